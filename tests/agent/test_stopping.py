"""A stop, a cancel and a consumer that goes away: in every phase, quickly, and recorded."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import aclosing
from pathlib import Path

import pytest

from local_agent.domain.entries import EntryStatus, Kind, TurnStatus
from local_agent.domain.events import (
    Event,
    Phase,
    PhaseChanged,
    TextDelta,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from local_agent.domain.ports import Reply
from tests.agent.conftest import THINKER, Bench, only, text_of, the_end, until, when
from tests.support.ollama_server import Turn, gate, say, streamed, think

STOP_SECONDS = 2.0
"""What waits for a clock takes longer. How quick a stop is, `tests/benchmarks/stopping.py` tells."""


async def turn_status(bench: Bench) -> TurnStatus:
    """The status of the newest turn, as the database has it."""
    turns = (await bench.store.tail(bench.info.id, 10)).turns
    return turns[max(turns)].status


async def test_a_stop_before_the_first_byte(bench: Bench) -> None:
    bench.server.script(Turn(gate("never")))
    stopped_at = 0.0

    async def stop_when_sent() -> None:
        nonlocal stopped_at
        await bench.server.wait_until(lambda: bench.server.chats)
        stopped_at = time.monotonic()
        bench.agent.stop()

    stopping = asyncio.create_task(stop_when_sent())
    events = await bench.events("Hi")
    took = time.monotonic() - stopped_at
    await stopping
    assert took < STOP_SECONDS
    assert the_end(events).status is TurnStatus.INTERRUPTED
    assert the_end(events).reply is None
    assert PhaseChanged(Phase.STOPPING) in events
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)
    assert bench.server.chats[0].disconnected - stopped_at < STOP_SECONDS  # type: ignore[operator]  # waited for above


async def test_a_stop_in_mid_reply_keeps_the_text(bench: Bench) -> None:
    bench.server.script(streamed("one two three four five six seven eight nine ten", per_second=20))
    stopped: list[float] = []

    def stop(event: Event) -> None:
        if event == TextDelta(" three"):
            bench.agent.stop()
            stopped.append(time.monotonic())

    events = await bench.events("count", stop)
    assert time.monotonic() - stopped[0] < STOP_SECONDS
    end = the_end(events)
    assert end.status is TurnStatus.INTERRUPTED
    assert end.reply is not None
    assert (end.reply.text, end.reply.status) == (text_of(events), EntryStatus.INTERRUPTED)
    assert end.reply.text.startswith("one two three")
    assert not only(events, TurnFailed)
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)
    assert bench.server.chats[0].disconnected - stopped[0] < STOP_SECONDS  # type: ignore[operator]  # waited for above
    assert await bench.store.errors(bench.info.id) == []


async def test_a_stop_while_the_model_thinks_keeps_the_thinking(bench: Bench) -> None:
    bench.server.script(Turn(think("Hm. "), gate("never")))
    events = await bench.events(
        "why?",
        lambda event: bench.agent.stop() if event == PhaseChanged(Phase.THINKING) else None,
        model=THINKER,
    )
    reply = the_end(events).reply
    assert reply is not None
    assert (reply.thinking, reply.text) == ("Hm. ", "")


async def test_a_stop_before_the_turn_sends_nothing(bench: Bench) -> None:
    bench.agent.stop()
    events = await bench.events("Hi")
    assert the_end(events).status is TurnStatus.INTERRUPTED
    assert bench.server.chats == []
    assert [entry.kind for entry in await bench.stored()] == [Kind.QUESTION]
    bench.server.script("Hello.")
    assert the_end(await bench.events("Hi")).status is TurnStatus.SETTLED


async def test_a_stop_while_another_program_locks_the_database(bench: Bench, tmp_path: Path) -> None:
    bench.clocks(store_within=0.2)
    bench.server.script("Hello.")
    lock = sqlite3.connect(tmp_path / "home" / "local-agent.db", isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")
    asyncio.get_running_loop().call_later(0.1, bench.agent.stop)
    started = time.monotonic()
    stopped = await bench.events("Hi")
    assert time.monotonic() - started < 0.1 + 2 * STOP_SECONDS
    assert (the_end(stopped).turn_id, the_end(stopped).status) == (0, TurnStatus.INTERRUPTED)
    lock.rollback()
    lock.close()
    assert the_end(await bench.events("Hi again")).status is TurnStatus.SETTLED
    # What was asked is stored once, though nobody waited for it, and was not sent.
    assert [session.turn_count for session in await bench.store.page(None)] == [2]
    assert len(bench.server.chats) == 1


async def test_a_stop_at_the_very_end_changes_nothing(bench: Bench) -> None:
    bench.server.script("Hello.", "Again.")
    assert the_end(await bench.events("Hi")).status is TurnStatus.SETTLED
    events = await bench.events("Hi", when(TurnEnded, bench.agent.stop))
    assert the_end(events).status is TurnStatus.SETTLED


@pytest.mark.parametrize("saved_before", [False, True])
async def test_a_hard_cancel_is_recorded_and_raised(bench: Bench, saved_before: bool) -> None:
    bench.clocks(save_every=0.01 if saved_before else 10.0)
    bench.server.script(Turn("half of ", gate("never")), "ok")
    arrived = asyncio.Event()

    async def consume() -> None:
        async with aclosing(bench.ask("Hi")) as events:
            async for event in events:
                if isinstance(event, TextDelta) and event.text.startswith(" of"):
                    arrived.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(arrived.wait(), 5)

    async def saved() -> bool:
        return not saved_before or await bench.store.open_reply(bench.info.id) == Reply("half of ")

    await until(saved)
    cancelled_at = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - cancelled_at < STOP_SECONDS
    assert await turn_status(bench) is TurnStatus.INTERRUPTED
    stored = await bench.stored()
    assert [(entry.text, entry.status) for entry in stored[1:]] == [("half of ", EntryStatus.INTERRUPTED)]
    assert await bench.store.open_reply(bench.info.id) is None
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)
    bench.head = stored[-1].id
    assert the_end(await bench.events("go on")).status is TurnStatus.SETTLED


async def test_a_consumer_that_leaves_ends_the_turn(bench: Bench) -> None:
    bench.server.script(Turn("half of ", gate("never")))
    generator = bench.ask("Hi")
    async for event in generator:
        if isinstance(event, TextDelta) and event.text.startswith(" of"):
            break
    await generator.aclose()
    assert await turn_status(bench) is TurnStatus.INTERRUPTED
    assert [entry.text for entry in await bench.stored()] == ["Hi", "half of "]


async def test_a_second_cancel_ends_the_wait_and_the_record_is_still_made(bench: Bench) -> None:
    bench.server.script(Turn(say("half"), gate("never")))
    arrived = asyncio.Event()

    async def consume() -> None:
        async for event in bench.ask("Hi"):
            if isinstance(event, TextDelta):
                arrived.set()

    task = asyncio.create_task(consume())
    await asyncio.wait_for(arrived.wait(), 5)
    task.cancel()
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    async def recorded() -> bool:
        return await turn_status(bench) is TurnStatus.INTERRUPTED

    await until(recorded)
    assert [entry.text for entry in await bench.stored()] == ["Hi", "half"]


async def test_a_consumer_that_leaves_at_once_leaves_a_whole_record(bench: Bench) -> None:
    generator = bench.ask("Hi")
    assert isinstance(await anext(generator), TurnStarted)
    await generator.aclose()
    assert await turn_status(bench) is TurnStatus.INTERRUPTED
