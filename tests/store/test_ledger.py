"""What is asked for, allowed, begun and ended is in the ledger before and after it happens, and stays."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.entries import Entry, EntryStatus, Kind, Origin, ToolCall, TurnStatus
from local_agent.domain.errors import LeaseLost, StoreError
from local_agent.domain.executions import BOUNDS, NOT_RUN, NotAllowed
from local_agent.domain.ledger import TERMINAL, EventKind, Execution, Receipt, new_execution_id
from local_agent.domain.ports import Reply
from local_agent.domain.requests import build_messages
from local_agent.domain.tools import Effect, FileChange
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import (
    BASH,
    EFFECTS,
    READ,
    VERSION,
    WANTED,
    new_session,
    opening,
    run_call,
    settled,
    talk,
    wanting,
)

K = EventKind
CHANGES = (
    FileChange("src/a.py", "changed", "0" * 64, "1" * 64, 0o644),
    FileChange("src", "folder"),
)


def said(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    return [(str(entry.kind), entry.text) for entry in entries]


async def test_a_turn_with_calls_from_question_to_answer(store: Store) -> None:
    held, turn = await store.create(new_session(), opening())
    await held.keep(turn, Reply("Let me"))
    reply, (read, bash) = await held.record(turn, WANTED, EFFECTS)

    assert (reply.parent, reply.calls, held.info.head) == (turn.question.id, (READ, BASH), reply.id)
    assert await store.open_reply(held.info.id) is None
    assert (read.tool, read.arguments, read.effect, read.state) == (
        "read",
        READ.arguments,
        Effect.READ_ONLY,
        K.REQUESTED,
    )
    bash = await held.note(bash, K.APPROVAL_REQUESTED, {"target": "make test"})
    bash = await held.note(bash, K.APPROVED, {"choice": "once"})
    bash = await held.start(bash, {"pid": 4711, "group": 4711})
    receipt = Receipt("ok", "2 tests", exit_code=0, seconds=1.5, size=9, output="a" * 64, diff="-a\n+b")
    bash, result = await held.finish(bash, K.COMPLETED, receipt, "passed", CHANGES)
    # The second ends first: results are found by their calls.
    read = await run_call(held, read, "1 line")

    assert (result.kind, result.origin, result.parent, result.call_number) == (
        Kind.RESULT,
        Origin.TOOL,
        reply.id,
        1,
    )
    assert held.info.head == reply.id
    await held.keep(turn, Reply("All"))
    more, _ = await held.record(turn, Reply("Again.", calls=(READ,)), (Effect.READ_ONLY,))
    assert more.parent == reply.id
    await held.keep(turn, Reply("All w"))
    answer = await held.settle(turn, settled("All well."))
    assert answer is not None and answer.parent == more.id

    assert await store.find(held.info.handle) == held.info
    tail = await store.tail(held.info.id, 9)
    assert said(tail.entries) == [
        ("question", "What is a tree?"),
        ("assistant", "Let me look."),
        ("result", "passed"),
        ("result", "1 line"),
        ("assistant", "Again."),
        ("result", NOT_RUN),
        ("assistant", "All well."),
    ]
    assert tail.executions[reply.id, 0] == read
    assert tail.executions[reply.id, 1] == bash
    assert bash.facts == {"target": "make test", "choice": "once", "pid": 4711, "group": 4711}
    assert bash.receipt == replace(receipt, excerpt="passed")
    assert bash.changes == CHANGES
    assert bash.requested_at <= bash.started_at <= bash.ended_at
    # The turn was settled over a call that nobody ended.
    assert tail.executions[more.id, 0].state is K.CANCELLED
    assert await store.executions(held.info.id) == list(tail.executions.values())
    assert await store.execution(bash.id) == bash
    assert await store.execution("0" * 12) is None
    assert (await store.before(held.info.id, more.id, 5)).executions.keys() == {(reply.id, 0), (reply.id, 1)}
    assert (await store.mirrored(held.info.id)).tail == tail


PATHS: dict[EventKind | None, list[EventKind]] = {
    None: [],
    K.REQUESTED: [],
    K.APPROVAL_REQUESTED: [K.APPROVAL_REQUESTED],
    K.APPROVED: [K.APPROVED],
    K.STARTED: [K.STARTED],
    K.DENIED: [K.DENIED],
    K.COMPLETED: [K.STARTED, K.COMPLETED],
    K.FAILED: [K.STARTED, K.FAILED],
    K.CANCELLED: [K.CANCELLED],
    K.OUTCOME_UNKNOWN: [K.STARTED, K.OUTCOME_UNKNOWN],
    K.JOB_ENDED: [K.STARTED, K.COMPLETED, K.JOB_ENDED],
}
"""How an execution gets into each state."""
ALLOWED = {
    K.REQUESTED: "approval_requested approved denied started failed cancelled",
    K.APPROVAL_REQUESTED: "approved denied cancelled",
    K.APPROVED: "started failed cancelled",
    K.STARTED: "completed failed cancelled outcome_unknown",
    K.COMPLETED: "job_ended",
}
"""What may come next, written down a second time; nothing after the others."""


async def add(held: HeldSession, call: Execution, kind: EventKind) -> Execution:
    if kind in TERMINAL:
        return (await held.finish(call, kind, Receipt("ok"), "text", ()))[0]
    return await (held.start(call, {}) if kind is K.STARTED else held.note(call, kind, {}))


@pytest.mark.parametrize("before", PATHS, ids=str)
async def test_only_what_the_state_machine_allows_is_written(store: Store, before: EventKind | None) -> None:
    held, turn = await store.create(new_session(), opening())
    for kind in EventKind:
        reply, (call,) = await held.record(turn, Reply("x", calls=(BASH,)), (Effect.EFFECTFUL,))
        for step in PATHS[before]:
            call = await add(held, call, step)
        if before is None:
            call = replace(call, id=new_execution_id())
        kept = (await store.tail(held.info.id, 99)).executions.get((reply.id, 0))
        leaves = len(await held.model_path(reply.id))
        if before is not None and str(kind) in ALLOWED.get(before, "").split():
            call = await add(held, call, kind)
            assert await store.execution(call.id) == call
        else:
            with pytest.raises(StoreError):
                await add(held, call, kind)
            assert (await store.tail(held.info.id, 99)).executions.get((reply.id, 0)) == kept
            assert len(await held.model_path(reply.id)) == leaves


async def test_a_call_ends_once_and_no_other_session_writes_of_it(store: Store) -> None:
    held, _, (read, _) = await wanting(store)
    other, *_ = await wanting(store)
    await run_call(held, read, "first")
    stale = replace(read, state=K.STARTED)

    with pytest.raises(NotAllowed, match="completed"):
        await held.finish(stale, K.FAILED, Receipt("failed"), "second", CHANGES)
    with pytest.raises(NotAllowed, match="unknown"):
        await other.finish(stale, K.FAILED, Receipt("failed"), "second", ())
    assert [text for kind, text in said(await held.model_path(held.info.head or 0)) if kind == "result"] == [
        "first"
    ]


async def test_a_start_needs_the_lease(store: Store) -> None:
    held, _, (read, bash) = await wanting(store)
    taken = await store.take_over(held.info.handle)

    for call in (read, bash):
        with pytest.raises(LeaseLost):
            await held.start(call, {})
    calls = await store.executions(taken.info.id)
    assert [(each.state, each.started_at) for each in calls] == [(K.CANCELLED, "")] * 2


async def test_a_command_of_a_persons_own_is_an_entry_with_its_result(store: Store) -> None:
    held = await talk(store, "one")
    asked = replace(opening("make test", held.info.head), command=BASH)
    turn = await held.begin(asked)
    (call,) = await held.requested(turn)

    assert (call.id, call.origin, call.effect) == (asked.execution_id, Origin.PERSON, Effect.UNKNOWN)
    await run_call(held, call, "passed")
    assert await held.settle(turn, replace(settled(""), stop_reason="command")) is None
    tail = await store.tail(held.info.id, 2)
    assert said(tail.entries) == [("assistant", "On one"), ("command", "make test"), ("result", "passed")]
    assert tail.entries[1].calls == (BASH,)
    assert tail.executions[tail.entries[1].id, 0].state is K.COMPLETED
    after = await held.begin(opening("Well?", held.info.head))
    assert "passed" in build_messages("", await held.model_path(after.question.id))[-1].content
    assert await store.find(held.info.handle) == held.info


async def test_a_first_question_may_be_a_command(store: Store) -> None:
    held, turn = await store.create(new_session(), replace(opening("make test"), command=BASH))
    (call,) = await held.requested(turn)
    assert (await run_call(held, call)).state is K.COMPLETED


async def test_calls_come_back_as_they_were_read(store: Store) -> None:
    odd = (
        ToolCall("", "n\ud800\0", {"deep": [{"a": None}, 1.5, "\ud83d"]}, recovered=True),
        ToolCall("c", "write", raw='["a list"]'),
    )
    held, turn = await store.create(new_session(), opening())
    reply, calls = await held.record(turn, Reply(calls=odd), ())
    tail = await store.tail(held.info.id, 9)

    assert tail.entries[1].calls == odd
    assert tuple(tail.executions[reply.id, number] for number in (0, 1)) == calls
    assert [each.recovered for each in calls] == [True, False]
    assert all(each.readable and each.effect is Effect.UNKNOWN for each in calls)


async def test_a_receipt_is_bounded_and_its_digest_is_of_what_is_kept(store: Store, database: Path) -> None:
    held, _, (read, _) = await wanting(store)
    huge = Receipt("ok", "s" * 9_000, diff="d" * 900_000, unscanned="u" * 9_000)
    call, _ = await held.finish(await held.start(read, {}), K.COMPLETED, huge, "t" * 90_000, ())

    assert call.receipt is not None
    kept = {name: len(getattr(call.receipt, name)) for name in BOUNDS}
    assert kept == BOUNDS
    assert await store.execution(call.id) == call


@pytest.mark.parametrize("table", ["executions", "execution_events", "reconciliations", "file_changes"])
async def test_the_ledger_refuses_to_be_rewritten(store: Store, database: Path, table: str) -> None:
    held, _, (_, bash) = await wanting(store)
    await held.finish(await held.start(bash, {}), K.FAILED, Receipt("failed"), "no", CHANGES)
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA recursive_triggers = ON")
        if table == "reconciliations":
            db.execute(f"INSERT INTO {table} VALUES ('{bash.id}', 'a', 'b', 'c', 'd', 'e', 'f', 'g')")
        column = {"executions": "tool", "execution_events": "kind", "reconciliations": "summary"}.get(
            table, "path"
        )
        for statement in (
            f"UPDATE {table} SET {column} = 'changed'",
            f"DELETE FROM {table}",
            f"INSERT OR REPLACE INTO {table} SELECT * FROM {table}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                db.execute(statement)


async def test_events_are_numbered_over_all_sessions(store: Store, database: Path) -> None:
    first, _, (one, _) = await wanting(store)
    second, _, (two, _) = await wanting(store)
    await run_call(second, two)
    await run_call(first, one)
    with closing(sqlite3.connect(database)) as db:
        rows = db.execute(
            "SELECT number, execution_id, kind FROM execution_events ORDER BY number"
        ).fetchall()
    assert [number for number, _, _ in rows] == list(range(1, 9))
    assert [(key, kind) for _, key, kind in rows[4:]] == [
        (two.id, "started"),
        (two.id, "completed"),
        (one.id, "started"),
        (one.id, "completed"),
    ]


async def test_a_fork_shows_the_calls_it_stands_on_and_adds_none(store: Store) -> None:
    held, turn, (read, bash) = await wanting(store)
    await run_call(held, read)
    await run_call(held, bash)
    await held.settle(turn, settled())
    fork = await store.fork(held.info.handle)

    assert (await store.tail(fork.id, 9)).executions == (await store.tail(held.info.id, 9)).executions
    assert await store.executions(fork.id) == []


async def test_without_a_file_it_is_the_same(tmp_path: Path) -> None:
    store = Store.in_memory(program_version=VERSION)
    held, turn, (read, bash) = await wanting(store)
    await run_call(held, read)
    await held.start(bash, {})
    await held.settle(turn, settled())
    assert [each.state for each in await store.executions(held.info.id)] == [K.COMPLETED, K.OUTCOME_UNKNOWN]
    assert held.info.uncertain_count == 1
    turns = (await store.tail(held.info.id, 9)).turns
    assert turns[turn.id].status is TurnStatus.SETTLED
    entries = (await store.tail(held.info.id, 9)).entries
    assert {entry.status for entry in entries} == {EntryStatus.SETTLED}
    await store.close()
