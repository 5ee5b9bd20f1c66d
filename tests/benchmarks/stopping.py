"""How long a stop takes, from its key to the end of the turn: before a reply, in it, and in a command."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from statistics import median
from time import perf_counter

from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.drafts import Prompt
from local_agent.domain.events import ApprovalAsked, Event, PhaseChanged, TextDelta, ToolStarted, TurnEnded
from local_agent.runtime.conversation import Conversation
from tests.benchmarks.report import Row
from tests.runtime.opened import opened
from tests.support.ollama_server import HostedServer, ModelSpec, OllamaServer, Turn, call, gate, say

STOPS = 11
BUDGET = 200.0
"""Milliseconds."""
MODEL = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3")

Case = tuple[str, Turn, Callable[[Event], bool]]
CASES: tuple[Case, ...] = (
    ("before the first word", Turn(gate("never")), lambda event: isinstance(event, PhaseChanged)),
    ("in a reply", Turn(say("One two three "), gate("never")), lambda event: isinstance(event, TextDelta)),
    (
        "in a command",
        Turn(call("bash", {"command": "sleep 9"})),
        lambda event: isinstance(event, ToolStarted),
    ),
)


def measure() -> Iterator[Row]:
    """The middle one of some stops of each kind, with the worst beside it."""
    for name, turn, at in CASES:
        with tempfile.TemporaryDirectory() as folder, HostedServer(OllamaServer([MODEL])) as server:
            server.default = turn
            home = Path(folder).resolve() / "home"
            took = sorted(asyncio.run(_stops(home, server.url, at)))
        detail = f"{len(took)} stops, the worst {took[-1]:.0f} ms"
        yield Row("a stop, to the end of the turn", median(took), BUDGET, "ms", detail, case=name)


async def _stops(home: Path, url: str, at: Callable[[Event], bool]) -> list[float]:
    async with opened(home, url) as runtime:
        conversation = runtime.new_conversation()
        return [took async for took in _each(conversation, at)]


async def _each(conversation: Conversation, at: Callable[[Event], bool]) -> AsyncIterator[float]:
    for number in range(STOPS):
        stopped = 0.0
        async for event in conversation.ask(Prompt(f"Question {number}")):
            if at(event) and not stopped:
                # A person does not press the key in the very moment of the event.
                await asyncio.sleep(0.05)
                stopped = perf_counter()
                conversation.stop()
            if isinstance(event, ApprovalAsked):
                conversation.answer(event.request.id, Answer(Choice.ONCE))
            if isinstance(event, TurnEnded):
                yield (perf_counter() - stopped) * 1e3
