"""What a tool says is bounded in one place; what is left out is counted and kept."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.tools import Action, Intent, ResultStatus, Surroundings, ToolResult, ToolSpec
from local_agent.objects.store import ObjectsInMemory
from local_agent.tools.changing.offered import changing_tools
from local_agent.tools.folder import LEAST_RESULT, MOST_RESULT, Folder, result_bytes
from local_agent.tools.output import LINE, bounded, byte_length, cut_bytes, fitting
from local_agent.tools.reading import LOOKING, TALKING
from local_agent.tools.shell.commands import Commands
from local_agent.tools.shell.tools import shell_tools
from local_agent.tools.tool import Ready
from tests.tools.calling import box, call, prepared


def test_what_fits_stays_as_it_is() -> None:
    outputs = ObjectsInMemory()
    assert bounded("one\ntwo\n", 2_048, outputs) == ("one\ntwo\n", None, "")
    assert bounded("", 2_048, outputs) == ("", None, "")


def test_head_and_tail_stay_and_the_middle_is_counted_and_kept() -> None:
    outputs = ObjectsInMemory()
    whole = "\n".join(f"line {number}" for number in range(1, 10_001))
    text, size, digest = bounded(whole, 2_048, outputs)
    assert byte_length(text) <= 2_048
    head, note, tail = text.partition("[... ")
    left_out = 10_000 - head.count("\n") - tail.count("\nline")
    assert text.startswith("line 1\n")
    assert text.endswith("\nline 10000")
    assert f"{note}{tail}".startswith(
        f"[... {left_out:,} of 10,000 lines left out here; all of it has 99 kB ...]\n"
    )
    assert len(tail) > len(head)
    assert size == len(whole)
    assert outputs.get(digest).decode() == whole


def test_a_long_line_is_cut_and_its_length_said() -> None:
    outputs = ObjectsInMemory()
    text, size, digest = bounded("a\n" + "x" * 4_000_000 + "\nb", 8_192, outputs)
    assert text == "a\n" + "x" * LINE + "… [cut: this line has 4,000,000 characters]\nb"
    assert (size, len(outputs.get(digest))) == (4_000_004, 4_000_004)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="aé\U0001f600", max_size=3_000), max_size=60), st.integers(2_048, 8_192))
def test_any_output_fits(lines: list[str], limit: int) -> None:
    outputs, whole = ObjectsInMemory(), "\n".join(lines)
    text, size, digest = bounded(whole, limit, outputs)
    assert byte_length(text) <= limit
    assert (text == whole) == (size is None)
    assert size is None or outputs.get(digest).decode() == whole


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(alphabet="aé", max_size=9), max_size=9), st.integers(0, 60))
def test_as_many_lines_fit_as_can(lines: list[str], limit: int) -> None:
    count = fitting(lines, limit)
    assert count == 0 or byte_length("\n".join(lines[:count])) <= limit
    assert count == len(lines) or byte_length("\n".join(lines[: count + 1])) > limit


def test_no_character_is_cut_in_two() -> None:
    assert [cut_bytes("aé€", limit) for limit in range(7)] == ["", "a", "a", "aé", "aé", "aé", "aé€"]


class Talkative:
    """A tool that says more than it may."""

    spec = ToolSpec("talk", "Talk.", {"type": "object", "properties": {}})

    def __init__(self, result: ToolResult) -> None:
        self._result = result

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        return Intent(call, self.spec, Action.TALK, "")

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> Ready:
        async def talk(around: Surroundings) -> ToolResult:
            return self._result

        return Ready(talk, {"pid": 1})


async def test_no_tool_gets_more_through_than_fits(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    said = ToolResult(ResultStatus.FAILED, "\n".join(map(str, range(5_000))), "much", exit_code=3)
    tools = box(tmp_path / "project", 2_048, [Talkative(said)])
    result = await call(tools, "talk")
    assert byte_length(result.text) <= 2_048
    assert (result.status, result.exit_code, result.summary, result.size) == ("failed", 3, "much", 23_889)
    assert tools.folder.outputs.get(result.output).decode() == said.text
    # What the tool has kept itself is not replaced by what it says of it.
    kept = replace(said, size=99, output="a" * 64)
    result = await call(box(tmp_path / "project", 2_048, [Talkative(kept)]), "talk")
    assert (result.size, result.output) == (99, "a" * 64)
    ready = await tools.ready(await prepared(tools, "talk"), "1", confined=False)
    assert ready.facts == {"pid": 1}
    await ready.drop()


def test_an_output_that_can_not_be_kept_is_said_to_be_lost() -> None:
    class FullDisk(ObjectsInMemory):
        def put(self, data: bytes, *, durable: bool = True) -> str:
            raise LocalAgentError("The disk is full.")

    text, size, digest = bounded("x\n" * 5_000, 2_048, FullDisk())
    assert text.endswith("[what is left out could not be kept: The disk is full.]")
    assert (size, digest) == (10_000, "")
    assert byte_length(text) <= 2_048


async def test_a_full_disk_leaves_the_result(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    (root / "many.log").write_text("error\n" * 2_000)
    (tmp_path / "outputs").touch()  # a file in the way, which nobody can write below
    result = await call(box(root, 2_048), "grep", pattern="error")
    assert result.status == "ok"
    assert (result.output, result.summary) == ("", "2,000 hits in 1 file")
    assert "could not be kept" in result.text
    assert byte_length(result.text) <= 2_048
    assert os.listdir(root) == ["many.log"]


@pytest.mark.parametrize(
    ("window", "expected"), [(0, LEAST_RESULT), (4_096, 2_211), (16_384, 8_847), (10**6, MOST_RESULT)]
)
def test_a_result_is_a_share_of_the_window(window: int, expected: int) -> None:
    assert result_bytes(window) == expected


def test_all_tools_together_are_told_in_six_kilobytes() -> None:
    commands = Commands(ObjectsInMemory())
    specs = [tool.spec for tool in (*LOOKING, *changing_tools(), *shell_tools(commands, None), *TALKING)]
    told = [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": spec.parameters,
            },
        }
        for spec in specs
    ]
    assert len(json.dumps(told).encode()) < 6 * 1024
    assert len({spec.name for spec in specs}) == len(specs)
    for spec in specs:
        assert "\n" not in spec.description
        properties = spec.parameters["properties"]
        assert isinstance(properties, dict)
        assert all(schema["type"] != "object" for schema in properties.values()), "parameters are flat"
        assert set(spec.example) <= set(properties)
