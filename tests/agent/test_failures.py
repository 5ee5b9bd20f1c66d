"""Turns that fail: one sentence each, what arrived kept, the next request valid."""

from __future__ import annotations

import asyncio
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.entries import EntryStatus, Kind, TurnStatus
from local_agent.domain.errors import ModelErrorKind, Outdated
from local_agent.domain.events import (
    Event,
    Notice,
    Silence,
    TextDelta,
    TurnFailed,
    TurnStarted,
    UsageReported,
)
from local_agent.store.store import Store
from tests.agent.conftest import THINKER, Bench, only, text_of, the_end, until, when
from tests.support.ollama_server import Fault, Turn, done, end, error, gate, say, sleep, think

CIRCLE = "I will now read the file and see what it says. "


@pytest.mark.parametrize(
    ("turn", "kind", "kept"),
    [
        (Turn(say("half of"), end("no_done")), ModelErrorKind.CUT_OFF, "half of"),
        (Turn(say("half of"), end("abort")), ModelErrorKind.CUT_OFF, "half of"),
        (Turn(say("half of"), end("rst")), ModelErrorKind.CUT_OFF, "half of"),
        (
            Turn(say("half of"), error("model runner has unexpectedly stopped")),
            ModelErrorKind.SERVER,
            "half of",
        ),
        (Turn(done()), ModelErrorKind.EMPTY, ""),
        (Turn(say(" \n\n"), done()), ModelErrorKind.EMPTY, " \n\n"),
        (Turn(think("Hm, hm."), done()), ModelErrorKind.ONLY_THINKING, ""),
        (Turn(think("Hm, hm."), done("length")), ModelErrorKind.ONLY_THINKING, ""),
        (Turn(say(CIRCLE * 40)), ModelErrorKind.REPEATING, None),
        (Turn(think(CIRCLE * 40)), ModelErrorKind.REPEATING, None),
    ],
)
async def test_each_bad_ending_has_its_kind_and_keeps_what_arrived(
    bench: Bench, turn: Turn, kind: ModelErrorKind, kept: str | None
) -> None:
    bench.server.script(turn, "Now it works.")
    events = await bench.events("try", model=THINKER)
    failures = only(events, TurnFailed)
    assert [failure.kind for failure in failures] == [kind]
    assert events[-2] is failures[0]
    reply = the_end(events).reply
    assert the_end(events).status is TurnStatus.FAILED
    if kept is not None:
        assert (reply.text if reply is not None else "") == kept
    if reply is not None:
        assert reply.status is EntryStatus.INTERRUPTED
    recorded = await bench.store.errors(bench.info.id)
    assert [(record.line, record.provider) for record in recorded] == [(failures[0].line, "ollama")]
    again = await bench.events("try again", model=THINKER)
    assert the_end(again).status is TurnStatus.SETTLED


async def test_thinking_up_to_the_limit_names_the_limit(bench: Bench) -> None:
    bench.server.script(Turn(think("Hm, hm."), done("length")))
    events = await bench.events("try", model=THINKER)
    assert "1,024 tokens" in only(events, TurnFailed)[0].line
    assert only(events, UsageReported)


async def test_a_reply_that_goes_round_in_circles_is_cut_early(bench: Bench) -> None:
    bench.server.script(Turn(say("Well. " + CIRCLE * 400, pause=0.001)))
    events = await bench.events("try")
    assert 600 <= len(text_of(events)) < 1500
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)


async def test_a_failed_question_is_not_sent_again(bench: Bench) -> None:
    bench.server.script(Turn(error("out of memory")), "ok")
    await bench.events("first try")
    await bench.events("second try")
    contents = [message["content"] for message in bench.sent(1)]
    assert contents == ["Be brief.", "second try"]


async def test_a_server_that_is_gone_is_one_line_with_the_way_out(bench: Bench) -> None:
    await bench.server.refuse()
    events = await bench.events("anyone?")
    failure = only(events, TurnFailed)[0]
    assert failure.kind == ModelErrorKind.UNREACHABLE
    assert failure.line
    assert failure.hint
    assert [entry.kind for entry in await bench.stored()] == [Kind.QUESTION]


def migrate(database: Path) -> None:
    """A newer program migrates the database: from now on this one may not write to it."""
    with closing(sqlite3.connect(database, isolation_level=None)) as other:
        other.execute("PRAGMA user_version = 9999")


async def test_a_question_that_cannot_be_stored_is_not_sent(bench: Bench, tmp_path: Path) -> None:
    bench.server.script("Hello.")
    await bench.events("Hi")
    migrate(tmp_path / "home" / "local-agent.db")
    events = await bench.events("and now?")
    assert [failure.kind for failure in only(events, TurnFailed)] == ["store"]
    assert (the_end(events).turn_id, the_end(events).status) == (0, TurnStatus.FAILED)
    assert not only(events, TurnStarted)
    assert len(bench.server.chats) == 1


async def test_a_reply_that_can_no_longer_be_stored_goes_on(bench: Bench, tmp_path: Path) -> None:
    bench.clocks(save_every=0.02)
    bench.server.script(Turn("one ", gate("refused"), "two ", sleep(0.2), "three"))

    async def refused() -> bool:
        return isinstance(bench.journal.trouble, Outdated)

    async def release() -> None:
        await until(refused)
        bench.server.release("refused")

    releasing: list[asyncio.Task[None]] = []

    def act(event: Event) -> None:
        if event == TextDelta("one"):
            migrate(tmp_path / "home" / "local-agent.db")
            releasing.append(asyncio.create_task(release()))

    events = await bench.events("count", act)
    assert text_of(events) == "one two three"
    assert [failure.kind for failure in only(events, TurnFailed)] == ["store"]
    assert the_end(events).reply is None


async def test_both_failures_are_told_when_a_failed_turn_cannot_be_stored(
    bench: Bench, tmp_path: Path
) -> None:
    bench.clocks(save_every=60)
    bench.server.script(Turn("one", gate("migrated"), end("no_done")))

    def act(event: Event) -> None:
        if isinstance(event, TextDelta):
            migrate(tmp_path / "home" / "local-agent.db")
            bench.server.release("migrated")

    events = await bench.events("count", act)
    failure = only(events, TurnFailed)[0]
    assert failure.kind == "store"
    assert [notice for notice in only(events, Notice) if failure.line not in notice.text]


async def test_a_session_that_was_taken_over_ends_the_turn(bench: Bench, tmp_path: Path) -> None:
    bench.clocks(save_every=0.02)
    bench.server.script(Turn("one ", gate("taken"), "two", gate("never")))
    path = tmp_path / "home" / "local-agent.db"
    other = await asyncio.to_thread(Store.open, path, program_version="0.1.0")
    taking: list[asyncio.Task[None]] = []

    async def take_over() -> None:
        await other.take_over(bench.info.handle)
        bench.server.release("taken")

    def act(event: Event) -> None:
        if isinstance(event, TextDelta) and not taking:
            taking.append(asyncio.create_task(take_over()))

    events = await bench.events("count", act)
    await other.close()
    assert [failure.kind for failure in only(events, TurnFailed)] == ["lease_lost"]
    assert the_end(events).status is TurnStatus.FAILED
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)


async def test_silence_is_told_again_and_again_and_ends_nothing(bench: Bench) -> None:
    bench.clocks(tell_silence_every=0.1)
    bench.server.script(Turn("Wait. ", gate("told twice"), "Here."))
    told: list[Silence] = []

    def act(event: Event) -> None:
        if isinstance(event, Silence):
            told.append(event)
        if len(told) == 2:
            bench.server.release("told twice")

    events = await bench.events("write a long file", act)
    assert the_end(events).status is TurnStatus.SETTLED
    assert "model is loaded" in told[0].note
    assert "tool call" in told[0].note


async def test_silence_before_the_first_word_says_that_the_prompt_may_be_read(bench: Bench) -> None:
    bench.clocks(tell_silence_every=0.1)
    bench.server.script("warm", Turn(gate("told"), "Here."))
    await bench.events("load it")
    events = await bench.events("wait", when(Silence, lambda: bench.server.release("told")))
    assert "reading the prompt" in only(events, Silence)[0].note


async def test_silence_of_a_server_that_does_not_answer_says_so(bench: Bench) -> None:
    bench.clocks(tell_silence_every=0.2)
    bench.server.script(Turn("Wait. ", gate("told")))
    deaf = [Fault("close_before_headers", path="/api/version")] * 3

    def act(event: Event) -> None:
        if isinstance(event, TextDelta) and deaf:
            bench.server.fault(*deaf)
            deaf.clear()
        if isinstance(event, Silence):
            bench.server.release("told")

    events = await bench.events("write a long file", act)
    assert "does not answer" in only(events, Silence)[0].note
    assert the_end(events).status is TurnStatus.SETTLED


async def test_the_watchdog_ends_a_silent_reply_and_keeps_it(bench: Bench) -> None:
    bench.server.script(Turn("Once upon", gate("never")))
    events = await bench.events("tell me", watchdog_seconds=0.3)
    assert [failure.kind for failure in only(events, TurnFailed)] == [ModelErrorKind.SILENT]
    assert [entry.text for entry in await bench.stored()] == ["tell me", "Once upon"]
    await bench.server.wait_until(lambda: bench.server.chats[0].disconnected)


async def test_the_watchdog_waits_for_loading_and_prompt_reading(bench: Bench) -> None:
    bench.clocks(tell_silence_every=0.6)
    bench.server.script(Turn(gate("told"), "At last."))
    events = await bench.events(
        "long prompt",
        when(Silence, lambda: bench.server.release("told")),
        watchdog_seconds=0.2,
    )
    assert the_end(events).status is TurnStatus.SETTLED


async def test_the_watchdog_does_not_count_the_time_the_process_slept(bench: Bench) -> None:
    bench.server.script(Turn("Once upon", gate("awake"), " a time"))

    def sleep() -> None:
        time.sleep(1.5)  # the whole process stands still, as under SIGSTOP
        bench.server.release("awake")

    def act(event: Event) -> None:
        if event == TextDelta(" upon"):
            asyncio.get_running_loop().call_later(0.3, sleep)

    events = await bench.events("tell me", act, watchdog_seconds=1.0)
    assert the_end(events).status is TurnStatus.SETTLED
    assert text_of(events) == "Once upon a time"


async def test_a_connection_that_never_answers_can_be_stopped(bench: Bench) -> None:
    bench.clocks(tell_silence_every=0.1)
    bench.server.fault(Fault("accept_and_hang"))
    events = await bench.events("Hi", when(Silence, bench.agent.stop))
    assert the_end(events).status is TurnStatus.INTERRUPTED
