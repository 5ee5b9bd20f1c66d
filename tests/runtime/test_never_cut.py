"""Sixty turns against a server that cuts long prompts without a word: it never has to, and never reloads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from local_agent.agent.measuring import Measuring
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import TurnStatus
from local_agent.domain.events import Compacted, Event, TurnEnded, TurnFailed, UsageReported
from local_agent.domain.modes import Mode
from local_agent.runtime.conversation import Conversation
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.ollama_server import ModelSpec, OllamaServer, RequestRecord, Turn, When, call, say

SILENT = "0.9.0"
"""A server of this age shortens what is too long, and does not understand that it must not."""
LATIN = "The fixture copies the folder before the test, and the test waits for the copy. "
HAN = "测试之前先复制文件夹，然后测试等待复制完成。最后比较两个文件夹的内容。"
SUMMARY = When(contains="so that the work can go on from the summary alone")


class Watched(Measuring):
    """Notes what was expected of each request beside what the server counted."""

    def __init__(self, measuring: Measuring) -> None:
        super().__init__(measuring.calibration)
        self.pairs: list[tuple[int, int]] = []

    def learn(self, counted: int | None, *, whole: bool = True) -> None:
        if self.last is not None and counted is not None:
            self.pairs.append((self.tokens(self.last.model, self.last.estimate), counted))
        super().learn(counted, whole=whole)


def told(text: str, number: int, times: int) -> str:
    """As long as wanted, and nothing in it twice: what goes round in circles is stopped."""
    return " ".join(f"{number}.{time} {text}" for time in range(times))


def replies(text: str, turns: int) -> Iterator[Turn]:
    """A long answer to each question, every third of them after calls of tools."""
    for number in range(turns):
        if number % 3 == 0:
            yield Turn(say("I look."), call("read", {"path": "notes.txt"}), call("ls", {"path": "."}))
            if number % 6 == 0:
                yield Turn(call("read", {"path": "notes.txt", "offset": 3}))
        yield Turn(say(told(text, number, 4 + number % 5)))


async def asked(conversation: Conversation, text: str, turns: int) -> list[list[Event]]:
    return [
        await events_of(conversation.ask(Prompt(told(text, number, 1 + number % 3))))
        for number in range(turns)
    ]


def options(record: RequestRecord) -> dict[str, Any]:
    found = record.body["options"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("window", "text", "weight", "turns"),
    [
        pytest.param(4096, LATIN, 3.0, 60, id="sixty turns", marks=pytest.mark.slow),
        pytest.param(8192, HAN, 2.0, 20, id="Chinese"),
        pytest.param(8192, LATIN, 2.0, 20, id="many tokens", marks=pytest.mark.slow),
        pytest.param(16_384, LATIN, 5.0, 20, id="few tokens", marks=pytest.mark.slow),
    ],
)
async def test_no_request_is_ever_cut(
    home: Path, server: OllamaServer, window: int, text: str, weight: float, turns: int
) -> None:
    model = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3", size=2_000, bytes_per_token=weight)
    server.models, server.version = {model.name: model}, SILENT
    server.script(*[Turn(f"What was decided, in short. {text}", when=SUMMARY)] * turns)
    server.script(*replies(text, turns))
    work = home.parent / "work"
    work.mkdir(parents=True)
    (work / "notes.txt").write_text("\n".join(f"{number} {text}" for number in range(40)))
    defaults = settings_for(server.url)
    settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=window))
    async with opened(home, server.url, settings=settings, mode=Mode.AUTO) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        measured = conversation.planner.measuring = Watched(conversation.planner.measuring)
        events = await asked(conversation, text, turns)
    for record in server.chats:
        assert (record.status, record.window, record.dropped) == (200, window, 0)
    for record in server.chats[1:]:
        # Nor does the server have to forget the beginning while it writes, once anything was counted.
        assert record.prompt_tokens + options(record)["num_predict"] <= window
    ends = [each[-1] for each in events]
    failures = [str(event) for each in events for event in each if isinstance(event, TurnFailed)]
    assert failures == []
    assert all(isinstance(end, TurnEnded) and end.status is TurnStatus.SETTLED for end in ends)
    assert server.memory.loads == [(model.name, window)]
    lasting = [{**options(record), "num_predict": 0} for record in server.chats]
    assert all(before == after for before, after in pairwise(lasting))
    compactions = [event for each in events for event in each if isinstance(event, Compacted)]
    assert not any(event.mechanical for event in compactions)
    assert len(compactions) >= 2 or window > 8192
    counts = [sum(isinstance(event, UsageReported) for event in each) for each in events]
    low = [
        (expected, counted)
        for expected, counted in measured.pairs[sum(counts[:3]) :]
        if expected < counted * 0.95
    ]
    assert low == []
