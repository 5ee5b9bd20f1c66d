"""Whatever the process died in, the next holder knows what is known, and what is not can be settled."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.errors import StoreError, UnknownSession
from local_agent.domain.executions import CUT_OFF, NOT_RUN, NOTES
from local_agent.domain.ledger import EventKind, Observation, Receipt, set_digest
from local_agent.domain.ports import Reply
from local_agent.domain.requests import build_messages
from local_agent.domain.tools import FOLDER, Effect, FileChange
from local_agent.store.check import check
from local_agent.store.held import HeldSession
from local_agent.store.settling import SETTLED_AT_ONCE
from local_agent.store.store import Store
from tests.store.other_process import OtherProcess
from tests.store.samples import (
    BASH,
    EFFECTS,
    FOUND,
    ROOT,
    VERSION,
    WANTED,
    new_session,
    opening,
    run_call,
    settled,
    talk,
    wanting,
)
from tests.support.crash import crash_at

K = EventKind
OTHERWISE = replace(FOUND, observation=Observation.EFFECT_NOT_APPLIED)


def results(path: Sequence[Entry]) -> list[str]:
    return [entry.text for entry in path if entry.kind is Kind.RESULT]


async def uncertain(store: Store, count: int = 1) -> HeldSession:
    """A session in whose turn a process died while so many calls with effects ran."""
    held, turn = await store.create(new_session(), opening())
    _, calls = await held.record(turn, Reply("x", calls=(BASH,) * count), (Effect.EFFECTFUL,) * count)
    for call in calls:
        await held.start(call, {"target": "make test"})
    await held.release()
    return await store.hold(held.info.handle)


def a_turn_with_calls(database: str) -> None:
    """Child: a reply with a call that reads and one that has an effect, the end of a job, the answer."""

    async def run() -> None:
        store = Store.open(Path(database), program_version=VERSION)
        held, turn = await store.create(new_session(), opening())
        _, (read, bash) = await held.record(turn, WANTED, EFFECTS)
        await run_call(held, read, "read")
        bash = await held.note(bash, K.APPROVAL_REQUESTED, {})
        bash = await held.note(bash, K.APPROVED, {})
        bash = await run_call(held, bash, "ran")
        await held.note(bash, K.JOB_ENDED, {})
        await held.keep(turn, Reply("All w"))
        await held.settle(turn, settled("All well."))
        await store.close()

    asyncio.run(run())


READ_ONE, RAN = ("read", K.COMPLETED), ("ran", K.COMPLETED)
UNRUN, CUT, UNKNOWN = (NOT_RUN, K.CANCELLED), (CUT_OFF, K.CANCELLED), ("", K.OUTCOME_UNKNOWN)


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("tool.record:before-commit", ()),
        ("tool.record:after-commit", (UNRUN, UNRUN)),
        ("tool.start:before-commit", (UNRUN, UNRUN)),
        ("tool.start:after-commit", (CUT, UNRUN)),
        ("tool.finish:before-commit", (CUT, UNRUN)),
        ("tool.finish:after-commit", (READ_ONE, UNRUN)),
        ("tool.note:before-commit", (READ_ONE, UNRUN)),
        ("tool.note:after-commit", (READ_ONE, UNRUN)),
        ("tool.note:after-commit:2", (READ_ONE, UNRUN)),
        ("tool.start:before-commit:2", (READ_ONE, UNRUN)),
        ("tool.start:after-commit:2", (READ_ONE, UNKNOWN)),
        ("tool.finish:before-commit:2", (READ_ONE, UNKNOWN)),
        ("tool.finish:after-commit:2", (READ_ONE, RAN)),
        ("tool.note:before-commit:3", (READ_ONE, RAN)),
        ("reply.keep:after-commit", (READ_ONE, RAN)),
        ("turn.settle:after-commit", (READ_ONE, RAN)),
    ],
)
async def test_a_kill_at_each_step_of_a_call_is_named_rightly(
    built: Path, point: str, left: tuple[tuple[str, EventKind], ...]
) -> None:
    crash_at(point, a_turn_with_calls, str(built))

    store = Store.open(built, program_version=VERSION)
    info = await store.latest(ROOT)
    assert info is not None
    held = await store.hold(info.handle)
    calls = await store.executions(info.id)
    tail = await store.tail(info.id, 20)
    assert [each.state for each in calls] == [state for _, state in left]
    assert results(tail.entries) == [text for text, _ in left if text]
    assert tuple(tail.executions.values()) == tuple(calls)
    assert all(each.readable for each in calls)
    assert {entry.origin for entry in tail.entries if entry.text in (NOT_RUN, CUT_OFF)} <= {Origin.PROGRAM}
    waiting = [each.execution for each in await store.pending(info.id, held.info.head)]
    assert waiting == [each for each in calls if each.uncertain]
    assert (await store.find(info.handle)).uncertain_count == len(waiting) == held.info.uncertain_count
    if waiting:
        assert await held.settle_uncertain([each.id for each in waiting], FOUND) == 1
    assert await store.pending(info.id, held.info.head) == ()
    assert await store.missing_results(info.id) == []
    turn = await held.begin(opening("And then?", held.info.head))
    assert len(results(await held.model_path(turn.question.id))) == len(left)
    await held.settle(turn, settled())
    await store.close()


async def test_what_another_process_left_open_at_a_take_over_is_uncertain(built: Path) -> None:
    store = Store.open(built, program_version=VERSION)
    with OtherProcess(built) as other:
        handle = other.tell("create", "one")["handle"]
        other.tell("start_calls")
        held = await store.take_over(handle)
        states = [each.state for each in await store.executions(held.info.id)]
        assert states == [K.CANCELLED, K.OUTCOME_UNKNOWN]
        assert other.tell("finish_calls")["error"] == "LeaseLost"
        assert [each.state for each in await store.executions(held.info.id)] == states
    await store.close()


async def test_an_uncertain_call_blocks_its_session_and_every_path_that_holds_it(store: Store) -> None:
    held, turn, (_, bash) = await wanting(store)
    await held.start(bash, {"target": "make test"})
    await held.release()
    held = await store.hold(held.info.handle)
    first = await held.begin(opening("And?", held.info.head))
    await held.settle(first, settled())
    fork = await store.fork(held.info.handle)
    elsewhere = await talk(store, "Something else")

    (mine,) = await store.pending(held.info.id, held.info.head)
    assert (mine.execution.id, mine.handle, mine.workspace_root) == (bash.id, held.info.handle, ROOT)
    # Undone, it is on no path of the session's, and still what the session did.
    assert await store.pending(held.info.id, turn.question.id) == (mine,)
    assert await store.pending(fork.id, fork.head) == (mine,)
    assert await store.pending(fork.id, turn.question.id) == ()
    assert await store.pending(elsewhere.info.id, elsewhere.info.head) == ()
    assert await store.pending(None, None) == ()
    assert await store.pending_of(held.info.handle) == (mine,)
    assert await store.pending_of(fork.handle) == ()
    with pytest.raises(UnknownSession):
        await store.pending_of("0000000")
    with pytest.raises(StoreError, match="no execution"):
        await (await store.hold(fork.handle)).settle_uncertain([bash.id], FOUND)

    await held.settle_uncertain([bash.id], FOUND)
    assert await store.pending(fork.id, fork.head) == ()


@pytest.mark.parametrize("observation", Observation)
async def test_settling_tells_the_model_in_fixed_words(store: Store, observation: Observation) -> None:
    held = await uncertain(store)
    (found,) = await store.pending_of(held.info.handle)
    evidence = replace(FOUND, observation=observation, summary="SECRET words \ud800\0")

    assert await held.settle_uncertain([found.execution.id], evidence, set_digest([found])) == 1
    path = await held.model_path(held.info.head or 0)
    assert results(path) == [NOTES[observation]]
    assert path[-1].origin is Origin.PROGRAM
    stored = await store.execution(found.execution.id)
    assert stored is not None and stored.evidence == evidence and stored.readable and not stored.uncertain
    assert held.info == await store.find(held.info.handle)


async def test_evidence_is_given_once_and_all_or_nothing_is_settled(store: Store) -> None:
    held = await uncertain(store, 3)
    seen = await store.pending_of(held.info.handle)
    one, two, three = (each.execution.id for each in seen)
    assert await held.settle_uncertain([two, two], FOUND) == 1

    assert await held.settle_uncertain([two], FOUND, "another set") == 0
    for ids, evidence, digest in (
        ([two], OTHERWISE, None),
        ([one, two, three], OTHERWISE, None),
        ([one, three], FOUND, set_digest(seen)),
        ([one, "0" * 12], FOUND, None),
        ([one] * (SETTLED_AT_ONCE + 1), FOUND, None),
    ):
        with pytest.raises(StoreError):
            await held.settle_uncertain(ids, evidence, digest)
        assert len(await store.pending_of(held.info.handle)) == 2
    left = await store.pending_of(held.info.handle)
    assert await held.settle_uncertain([one, two, three], FOUND, set_digest(left)) == 2
    assert results(await held.model_path(held.info.head or 0)) == [NOTES[FOUND.observation]] * 3


async def test_a_set_holds_a_hundred(store: Store) -> None:
    held = await uncertain(store, SETTLED_AT_ONCE + 5)
    seen = await store.pending_of(held.info.handle)
    first = seen[:SETTLED_AT_ONCE]
    ids = [each.execution.id for each in first]
    assert await held.settle_uncertain(ids, FOUND, set_digest(first)) == SETTLED_AT_ONCE
    assert [each.execution.id for each in await store.pending_of(held.info.handle)] == [
        each.execution.id for each in seen[SETTLED_AT_ONCE:]
    ]
    assert held.info.uncertain_count == 5


async def test_what_is_certain_takes_no_evidence(store: Store) -> None:
    held, _, (read, _) = await wanting(store)
    with pytest.raises(StoreError, match="not uncertain"):
        await held.settle_uncertain([read.id], FOUND)


async def test_a_group_that_could_not_be_ended_has_no_result_before_it_is_settled(store: Store) -> None:
    held, turn, (_, bash) = await wanting(store)
    bash = await held.start(bash, {})
    call, entry = await held.finish(bash, K.OUTCOME_UNKNOWN, Receipt("uncertain", "It goes on."), "half", ())
    assert (entry.id, entry.text, call.uncertain) == (0, "half", True)
    await held.settle(turn, settled(""))

    assert held.info.uncertain_count == 1
    assert results(await held.model_path(held.info.head or 0)) == [NOT_RUN]
    await held.settle_uncertain([call.id], OTHERWISE)
    assert NOTES[OTHERWISE.observation] in results(await held.model_path(held.info.head or 0))


def execute(database: Path, *statements: str) -> None:
    """Write past all that guards the tables."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        triggers = db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for name, _ in triggers:
            db.execute(f"DROP TRIGGER {name}")
        for statement in statements:
            db.execute(statement)
        for _, sql in triggers:
            db.execute(sql)


async def test_lost_results_are_written_again_from_their_receipts(store: Store, database: Path) -> None:
    held, turn, (read, bash) = await wanting(store)
    await run_call(held, read, "what was read " * 900)
    await held.start(bash, {})
    await held.settle(turn, settled())
    with pytest.raises(StoreError, match="uncertain"):
        await held.repair()
    await held.settle_uncertain([bash.id], FOUND)
    last = (await store.find(held.info.handle)).last_entry
    assert await held.repair() == 0

    execute(database, "DELETE FROM entries WHERE kind = 'result'")
    assert [each.id for each in await store.missing_results(held.info.id)] == [read.id, bash.id]
    assert await held.repair() == 2
    kept, note = results(await held.model_path(held.info.head or 0))
    assert "was lost" in kept and "what was read what was read" in kept and len(kept) < 3_000
    assert note == NOTES[FOUND.observation]
    assert await store.missing_results(held.info.id) == []
    assert await held.repair() == 0
    # A repair is nothing that happened in the session.
    assert (await store.find(held.info.handle)).last_entry == last


BY_HAND = {
    "an order that can't be": "UPDATE execution_events SET kind = 'requested' WHERE kind = 'completed'",
    "two ends": "UPDATE execution_events SET kind = 'failed' WHERE kind = 'started'",
    "no such kind": "UPDATE execution_events SET kind = 'exploded' WHERE kind = 'completed'",
    "a kind that is none": "UPDATE execution_events SET kind = x'ff00'",
    "no events": "DELETE FROM execution_events",
    "no request": "DELETE FROM execution_events WHERE kind = 'requested'",
    "no JSON": "UPDATE execution_events SET detail = '{'",
    "no object": "UPDATE execution_events SET detail = '[1]'",
    "deep JSON": f"UPDATE execution_events SET detail = '{'[' * 5_000}'",
    "another object": """UPDATE execution_events SET detail = '{"status": 1}'""",
    "no bytes of ours": "UPDATE execution_events SET detail = x'ff00ff', digest = 5, created_at = x'ff'",
    "a digest that does not fit": "UPDATE execution_events SET digest = 'x' WHERE kind = 'started'",
    "arguments that are others": "UPDATE executions SET arguments_digest = 'x'",
    "an effect that is none": "UPDATE executions SET effect = 'harmless'",
    "an origin that is none": "UPDATE executions SET origin = 7, recovered = 'perhaps'",
    "a call that is none": "UPDATE executions SET call_number = 77 + number",
    "an entry without calls": "UPDATE executions SET entry_id = 1 + number",
    "calls that are none": "UPDATE entries SET calls = '[1' WHERE calls != ''",
    "a finding that is none": "UPDATE reconciliations SET observation = 'fine', source = x'ff'",
    "a finding that is another": "UPDATE reconciliations SET summary = 'rewritten'",
    "changes that are none": "UPDATE file_changes SET path = x'ff', kind = 9, mode_before = 'rw'",
}
BESIDE = {"changes that are none"}
"""These have no digest."""


@pytest.mark.parametrize("damage", BY_HAND)
async def test_a_row_that_was_edited_by_hand_is_shown_as_such(built: Path, damage: str) -> None:
    store = Store.open(built, program_version=VERSION)
    held, _, (read, bash) = await wanting(store)
    change = FileChange("a", "changed", "0" * 64, "1" * 64, 0o644)
    await held.finish(await held.start(read, {}), K.COMPLETED, Receipt("ok"), "read", (change,))
    await held.start(bash, {})
    await held.release()
    held = await store.hold(held.info.handle)
    await held.settle_uncertain([bash.id], FOUND)
    turn = await held.begin(opening("More?", held.info.head))
    _, (third, fourth) = await held.record(turn, WANTED, EFFECTS)
    await run_call(held, third)
    await held.start(fourth, {})
    await store.close()
    execute(built, BY_HAND[damage])
    problems = check(built, built.parent / "backups").problems
    assert damage in BESIDE or any(held.info.handle in problem for problem in problems)

    store = Store.open(built, program_version=VERSION)
    info = await store.latest(ROOT)
    assert info is not None
    assert [each.handle for each in await store.page(ROOT)] == [info.handle]
    held = await store.hold(info.handle)
    calls = await store.executions(info.id)
    assert len(calls) == 4
    assert damage in BESIDE or not all(each.readable for each in calls)
    assert (await store.mirrored(info.id)).tail == await store.tail(info.id, 40)
    waiting = await store.pending(info.id, held.info.head)
    assert waiting == await store.pending_of(info.handle)
    if waiting:
        await held.settle_uncertain([each.execution.id for each in waiting], FOUND)
    assert await store.pending(info.id, held.info.head) == ()
    assert await store.missing_results(info.id) == [] or await held.repair()
    turn = await held.begin(opening("And then?", held.info.head))
    build_messages("", await held.model_path(turn.question.id))
    await held.settle(turn, settled())
    assert (await store.find(info.handle)).uncertain_count == 0
    assert held.info == await store.find(info.handle)
    await store.close()


async def test_files_of_a_call_that_took_effect_count_as_changed_by_it(store: Store) -> None:
    held, turn, (_, bash) = await wanting(store)
    before = (await store.undo_landing(held.info.id)).ledger_number
    inside, outside, folder = f"{ROOT}/src/a.py", "/etc/a.conf", f"{ROOT}/new"
    expected = {inside: "1" * 64, outside: "", folder: "", f"{ROOT}/same": "5" * 64}
    intended = {inside: "", outside: "2" * 64, folder: FOLDER, f"{ROOT}/same": "5" * 64}
    await held.start(bash, {"expected": expected, "intended": intended})
    await held.settle(turn, settled())
    assert before is not None
    assert await store.changes_since(held.info.id, before) == []

    await held.settle_uncertain([bash.id], FOUND)

    assert await store.changes_since(held.info.id, before) == [
        FileChange(outside, "created", "", "2" * 64),
        FileChange("new", FOLDER),
        FileChange("src/a.py", "removed", "1" * 64, ""),
    ]
    again = await held.settle_uncertain([bash.id], FOUND)
    assert again == 0
    assert len(await store.changes_since(held.info.id, before)) == 3
