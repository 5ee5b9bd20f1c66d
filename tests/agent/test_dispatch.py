"""What runs beside what, what a stop leaves, and what is done when nothing can be recorded."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from local_agent.domain.entries import ToolCall, TurnStatus
from local_agent.domain.errors import ModelErrorKind
from local_agent.domain.events import (
    Event,
    ReplyRecorded,
    TextDelta,
    ToolFinished,
    ToolRequested,
    ToolStarted,
    TurnEnded,
    TurnFailed,
)
from local_agent.domain.executions import NOT_RUN
from local_agent.domain.ledger import EventKind
from local_agent.domain.modes import Mode
from local_agent.store.store import Store
from tests.agent.conftest import Bench, only, the_end
from tests.agent.small_tools import SmallToolbox
from tests.agent.test_tools import assert_requests_grow, results, states
from tests.support.ollama_server import ModelSpec, Turn, call, end, gate, say

STOP_SECONDS = 2.0
"""What waits for a clock takes longer. How quick a stop is, `tests/benchmarks/stopping.py` tells."""


def look(name: str) -> object:
    return call("look", {"gate": name})


class Stopper:
    """Stops the turn at an event, and knows how long that took."""

    def __init__(self, bench: Bench, at: Callable[[Event], bool]) -> None:
        self._bench = bench
        self._at = at
        self._stopped = self._ended = 0.0

    def __call__(self, event: Event) -> None:
        if self._stopped and isinstance(event, ToolFinished | TurnEnded) and not self._ended:
            self._ended = time.monotonic()
        if not self._stopped and self._at(event):
            self._stopped = time.monotonic()
            self._bench.agent.stop()

    @property
    def took(self) -> float:
        """To the end of the first call that is told, or of the turn."""
        assert self._stopped and self._ended
        return self._ended - self._stopped


async def test_at_most_four_reads_run_at_once_and_end_in_any_order(bench: Bench, tools: SmallToolbox) -> None:
    names = ["one", "two", "three", "four", "five"]
    bench.server.script(Turn(*[look(name) for name in names]), "Done.")  # type: ignore[arg-type]  # steps
    started = 0

    def act(event: Event) -> None:
        nonlocal started
        if isinstance(event, ToolStarted):
            started += 1
            if started == 4:
                assert "look five" not in tools.log
                tools.gates["four"].set()
            if started == 5:
                for name in ("five", "one", "two", "three"):
                    tools.gates[name].set()

    events = await bench.events("go", act)
    assert results(events)[0] == "four is over"
    assert [message["content"] for message in bench.sent(1)[-5:]] == [f"{name} is over" for name in names]
    assert_requests_grow(bench)


async def test_what_has_an_effect_runs_alone_and_in_its_place(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("old")
    read, write = call("read", {"path": "a"}), call("write", {"path": "a", "content": "new"})
    for name in "xyz":
        tools.gates[name].set()
    bench.server.script(Turn(look("x"), read, write, read, look("y"), call("run", {"gate": "z"})), "Done.")  # type: ignore[arg-type]  # steps
    events = await bench.events("go", mode=Mode.AUTO)
    order = tools.log.index("write a")
    assert {"look x", "read a", "look x ended"} == set(tools.log[:order])
    assert tools.log[-2:] == ["run z", "run z ended"]
    assert [message["content"] for message in bench.sent(1)[-6:]][1::2] == ["old", "new", "z is over"]
    assert len(only(events, ToolFinished)) == 6


@pytest.mark.parametrize("tool", ["look", "run"])
async def test_a_stop_inside_a_tool_is_quick_and_the_rest_is_not_run(
    bench: Bench, tools: SmallToolbox, tool: str
) -> None:
    bench.server.script(
        Turn(call(tool, {"gate": "never"}), call("write", {"path": "a", "content": "A"}), look("x"))  # type: ignore[arg-type]  # a step
    )
    stopper = Stopper(bench, lambda event: isinstance(event, ToolStarted))
    events = await bench.events("go", stopper, mode=Mode.AUTO)
    assert stopper.took < STOP_SECONDS
    assert the_end(events).status is TurnStatus.INTERRUPTED
    assert results(events) == ["never was stopped", NOT_RUN, NOT_RUN]
    assert states(events) == [EventKind.CANCELLED] * 3 and len(bench.server.chats) == 1
    assert not only(events, TurnFailed)
    bench.server.script("I go on.")
    assert the_end(await bench.events("go on")).status is TurnStatus.SETTLED
    assert_requests_grow(bench)


async def test_a_stop_ends_a_command_of_the_persons_own(bench: Bench, tools: SmallToolbox) -> None:
    stopper = Stopper(bench, lambda event: isinstance(event, ToolStarted))
    events = await bench.events("run", stopper, command=ToolCall("c", "run", {"gate": "never"}))
    assert stopper.took < STOP_SECONDS
    assert (the_end(events).status, states(events)) == (TurnStatus.INTERRUPTED, [EventKind.CANCELLED])


async def test_a_stop_before_a_tool_runs_none(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn(*[call("write", {"path": path, "content": "x"}) for path in "ab"]))
    stopper = Stopper(bench, lambda event: isinstance(event, ReplyRecorded))
    events = await bench.events("go", stopper, mode=Mode.AUTO)
    assert stopper.took < STOP_SECONDS
    assert results(events) == [NOT_RUN, NOT_RUN] and tools.log == []
    assert len(tools.looked_at) <= 1


async def test_a_stop_between_chunks_runs_no_call_that_has_arrived(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.models["m:latest"] = ModelSpec("m", ("completion", "tools"), "qwen3")
    bench.server.script(Turn(call("write", {"path": "a", "content": "x"}), say("Soon"), gate("never")))
    stopper = Stopper(bench, lambda event: isinstance(event, TextDelta))
    events = await bench.events("go", stopper, model="m", mode=Mode.AUTO)
    assert stopper.took < STOP_SECONDS
    assert not only(events, ToolRequested) and not tools.path("a").exists()
    bench.server.script("I go on.")
    assert the_end(await bench.events("go on")).status is TurnStatus.SETTLED


async def test_a_stop_before_the_first_byte_of_a_later_request(bench: Bench, tools: SmallToolbox) -> None:
    tools.path("a").write_text("A")
    bench.server.script(Turn(call("read", {"path": "a"})), Turn(gate("never")))
    stopping = asyncio.create_task(bench.server.wait_until(lambda: len(bench.server.chats) == 2))
    stopping.add_done_callback(lambda _: bench.agent.stop())
    events = await bench.events("go")
    assert (the_end(events).status, results(events)) == (TurnStatus.INTERRUPTED, ["A"])
    await bench.server.wait_until(lambda: bench.server.chats[1].disconnected)


async def test_a_reader_that_does_not_hear_the_stop_is_left_behind(bench: Bench, tools: SmallToolbox) -> None:
    bench.clocks(stop_within=0.05)
    bench.server.script(Turn(call("deaf_look", {"gate": "never"})))
    stopper = Stopper(bench, lambda event: isinstance(event, ToolStarted))
    events = await bench.events("go", stopper)
    assert stopper.took < STOP_SECONDS
    assert (states(events), results(events)) == ([EventKind.CANCELLED], ["The person stopped this."])


async def test_an_effect_that_cannot_be_ended_is_uncertain_and_ends_the_turn(
    bench: Bench, tools: SmallToolbox
) -> None:
    bench.clocks(effect_within=0.2)
    bench.server.script(
        Turn(call("deaf_run", {"gate": "never"}), call("write", {"path": "a", "content": "A"}))
    )
    stopper = Stopper(bench, lambda event: isinstance(event, ToolStarted))
    events = await bench.events("go", stopper, mode=Mode.AUTO)
    assert states(events) == [EventKind.OUTCOME_UNKNOWN, EventKind.CANCELLED]
    assert [failure.kind for failure in only(events, TurnFailed)] == ["outcome_unknown"]
    assert "/recover" in only(events, TurnFailed)[0].hint
    assert not tools.path("a").exists()
    page = await bench.store.tail(bench.info.id, 10)
    assert [each.uncertain for each in page.executions.values()] == [True, False]


async def test_nothing_more_runs_once_an_outcome_is_not_known(bench: Bench, tools: SmallToolbox) -> None:
    bench.server.script(Turn(call("bash", {"command": "lost"}), call("write", {"path": "a", "content": "A"})))
    events = await bench.events("go", mode=Mode.AUTO)
    assert states(events) == [EventKind.OUTCOME_UNKNOWN, EventKind.CANCELLED]
    assert (results(events)[1], tools.log) == (NOT_RUN, ["bash lost"])
    assert [failure.kind for failure in only(events, TurnFailed)] == ["outcome_unknown"]


async def test_the_model_is_told_that_an_outcome_is_not_known(bench: Bench, tools: SmallToolbox) -> None:
    bench.clocks(effect_within=0.1)
    bench.server.script(Turn(call("deaf_run", {"gate": "never"})))
    events = await bench.events(
        "go", Stopper(bench, lambda event: isinstance(event, ToolStarted)), mode=Mode.AUTO
    )
    entry = only(events, ReplyRecorded)[0].reply.id
    bench.server.script("I see.")
    await bench.events("what now?", mode=Mode.PLAN, uncertain=frozenset({(entry, 0)}))
    told = [message["content"] for message in bench.sent(1) if message["role"] == "tool"]
    assert "Nobody knows yet whether it was done" in str(told[0])


async def test_nothing_with_an_effect_runs_while_its_start_cannot_be_stored(
    bench: Bench, tools: SmallToolbox, tmp_path: Path
) -> None:
    bench.server.script(Turn(call("write", {"path": "a", "content": "A"})), "I can't.")
    lock = sqlite3.connect(tmp_path / "home" / "local-agent.db", isolation_level=None)

    def act(event: Event) -> None:
        if isinstance(event, ToolRequested):
            bench.store.hurry(0.05)
            lock.execute("BEGIN IMMEDIATE")
        if isinstance(event, ToolFinished):
            lock.rollback()

    events = await bench.events("go", act, mode=Mode.AUTO)
    lock.close()
    assert not tools.path("a").exists()
    assert states(events) == [EventKind.FAILED]
    assert results(events)[0].startswith("Not run: what is done can't be recorded now")
    assert tools.dropped == ["a"]
    assert the_end(events).status is TurnStatus.SETTLED


async def test_a_session_that_was_taken_over_runs_nothing_more(
    bench: Bench, tools: SmallToolbox, tmp_path: Path
) -> None:
    bench.server.script(Turn(look("first"), call("write", {"path": "a", "content": "A"})))  # type: ignore[arg-type]  # a step
    path = tmp_path / "home" / "local-agent.db"
    other = await asyncio.to_thread(Store.open, path, program_version="0.1.0")
    taking: list[asyncio.Task[None]] = []

    async def take_over() -> None:
        await other.take_over(bench.info.handle)
        tools.gates["first"].set()

    def act(event: Event) -> None:
        if isinstance(event, ToolStarted):
            taking.append(asyncio.create_task(take_over()))

    events = await bench.events("go", act, mode=Mode.AUTO)
    await other.close()
    assert [failure.kind for failure in only(events, TurnFailed)] == ["lease_lost"]
    assert not tools.path("a").exists() and len(bench.server.chats) == 1


async def test_a_silent_server_in_mid_reply_ends_a_turn_with_tools_too(
    bench: Bench, tools: SmallToolbox
) -> None:
    tools.path("a").write_text("A")
    bench.server.script(Turn(call("read", {"path": "a"})), Turn("And", end("hang")))
    events = await bench.events("go", watchdog_seconds=0.3)
    assert [failure.kind for failure in only(events, TurnFailed)] == [ModelErrorKind.SILENT]
    reply = the_end(events).reply
    assert reply is not None and reply.text == "And"
