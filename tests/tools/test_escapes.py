"""Nothing outside the workspace, and no secret, is read by a tool that was not allowed it."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.domain.tools import ToolFailed, ToolResult
from local_agent.tools.box import Box
from tests.tools.calling import box, call, prepared, run
from tests.tools.escapes import CANARY, READING, Escape, Way, hostile, placed


@pytest.mark.parametrize("escape", READING, ids=lambda escape: escape.what)
async def test_no_way_out(tmp_path: Path, escape: Escape) -> None:
    root, outside = hostile(tmp_path)
    tools = box(root)
    arguments = {name: placed(value, root, outside) for name, value in escape.arguments.items()}
    way, said = await _tried(tools, escape, arguments)
    assert way is escape.way, said
    assert CANARY not in said
    if escape.way is Way.ASKED and escape.leads_to:
        assert said == _real(placed(escape.leads_to, root, outside))


def _real(path: object) -> str:
    return os.path.realpath(str(path))


async def _tried(tools: Box, escape: Escape, arguments: dict[str, object]) -> tuple[Way, str]:
    """What became of it, and what the model or the person was told."""
    try:
        intent = await prepared(tools, escape.tool, **arguments)
        if intent.outside:
            return Way.ASKED, "\n".join(intent.outside)
        result = await asyncio.wait_for(run(tools, intent), 5)
    except ToolFailed as failed:
        return Way.REFUSED, str(failed)
    empty = result.text.startswith(("[no hits", "[no paths"))
    return (Way.EMPTY if empty else Way.INSIDE), result.text


def test_there_are_sixty() -> None:
    assert len(READING) >= 60
    assert len({escape.what for escape in READING}) == len(READING)


async def test_what_was_allowed_outside_is_read_and_only_that(tmp_path: Path) -> None:
    root, outside = hostile(tmp_path)
    tools = box(root)
    intent = await prepared(tools, "read", path="out.txt")
    assert CANARY in (await run(tools, intent)).text
    # What the person allowed is the path that they saw: a link in its place is another file.
    (outside / "secret.txt").rename(outside / "other.txt")
    (outside / "secret.txt").symlink_to(outside / "other.txt")
    with pytest.raises(ToolFailed, match="was replaced by a link meanwhile"):
        await run(tools, intent)
    # A search outside has its secrets as well.
    (outside / ".env").write_text(CANARY)
    found = await run(tools, await prepared(tools, "grep", pattern="CANARY", path="../outside"))
    assert found.text.startswith("[2 hits in 2 files; 1 path is hidden from tools]")


def _file(root: Path, outside: Path) -> None:
    (root / "src" / "main.py").unlink()
    (root / "src" / "main.py").symlink_to(outside / "secret.txt")


def _folder(root: Path, outside: Path) -> None:
    (root / "src").rename(root / "src-2")
    (root / "src").symlink_to(outside)
    (outside / "main.py").write_text(CANARY)


def _workspace(root: Path, outside: Path) -> None:
    root.rename(root.with_name("moved"))
    root.symlink_to(outside)
    (outside / "src").mkdir()
    (outside / "src" / "main.py").write_text(CANARY)


@pytest.mark.parametrize("swap", [_file, _folder, _workspace])
@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read", {"path": "src/main.py"}),
        ("grep", {"pattern": "CANARY|hello", "path": "src"}),
        ("grep", {"pattern": "CANARY|hello", "path": "src/main.py"}),
        ("glob", {"pattern": "secret.txt", "path": "src"}),
        ("ls", {"path": "src"}),
    ],
)
async def test_what_is_swapped_for_a_link_after_the_look_is_not_followed(
    tmp_path: Path, swap: Callable[[Path, Path], None], tool: str, arguments: dict[str, object]
) -> None:
    root, outside = hostile(tmp_path)
    tools = box(root)
    intent = await prepared(tools, tool, **arguments)
    assert not intent.outside
    swap(root, outside)
    try:
        said = (await run(tools, intent)).text
    except ToolFailed as failed:
        said = str(failed)
    assert CANARY not in said
    assert "\nsecret.txt" not in said


async def test_a_link_that_comes_and_goes_is_never_followed(tmp_path: Path) -> None:
    root, outside = hostile(tmp_path)
    tools = box(root)
    (outside / "main.py").write_text(CANARY)
    ended = threading.Event()
    swapping = threading.Thread(target=_swap, args=(root, outside, ended))
    swapping.start()
    read = 0
    try:
        for _ in range(20):
            for tool, arguments in (
                ("read", {"path": "src/main.py"}),
                ("ls", {"path": "src"}),
                ("glob", {"pattern": "**/secret.txt"}),
                ("grep", {"pattern": "CANARY|hello", "path": "src"}),
            ):
                result = await _unasked(tools, tool, arguments)
                if result is not None:
                    assert CANARY not in result.text
                    assert "secret.txt\n" not in f"{result.text}\n".split("\n", 1)[1]
                    read += 1
    finally:
        ended.set()
        swapping.join()
    assert read


async def _unasked(tools: Box, tool: str, arguments: dict[str, str]) -> ToolResult | None:
    """What is found without asking anybody; None when it leads outside just now, or fails."""
    try:
        intent = await prepared(tools, tool, **arguments)
        return None if intent.outside else await run(tools, intent)
    except ToolFailed:
        return None


def _swap(root: Path, outside: Path, ended: threading.Event) -> None:
    """``src`` is a folder, nothing, or a link to the outside, as fast as can be."""
    while not ended.is_set():
        os.rename(root / "src", root / "aside")
        os.symlink(outside, root / "src")
        os.unlink(root / "src")
        os.rename(root / "aside", root / "src")


async def test_a_hard_link_is_told_of(tmp_path: Path) -> None:
    root, _ = hostile(tmp_path)
    (root / "src" / "other.py").hardlink_to(root / "src" / "main.py")
    text = (await call(box(root), "read", path="src/other.py")).text
    assert text.startswith("[src/other.py: 1 line; it has other names too (hard links)]")


async def test_what_was_meant_is_guessed_without_a_word_of_what_is_hidden(tmp_path: Path) -> None:
    root, _ = hostile(tmp_path)
    with pytest.raises(ToolFailed) as failed:
        await call(box(root), "read", path="id_rs")
    assert str(failed.value) == "There is no id_rs."
