"""Checkpoints name a place of one session for good; a restore of files is kept until it is settled."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.checkpoints import KEPT_BEFORE_COMPACTION, CheckpointKind
from local_agent.domain.errors import StoreError, UsageError
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.moves import Cause, Scope
from local_agent.domain.restoring import FileStep, RestoreIntent, change_of, intent_of
from local_agent.domain.tools import FileState
from local_agent.store.check import check
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import FOUND, opening, settled, talk

STEP = FileStep("src/a.py", FileState("2" * 64, 0o100644), FileState("1" * 64, 0o100755))
INTENT = RestoreIntent("checkpoint 1", (STEP, FileStep("gone.txt", FileState("3" * 64), FileState())))
DONE = Receipt("ok", "2 paths restored")


async def under_way(store: Store, held: HeldSession) -> Execution:
    """A restore of files that has begun with a move to the newest checkpoint."""
    (made, *_) = await store.checkpoints(held.info.id, None, 1)
    await held.travel(await store.checkpoint_landing(held.info.id, made.id), Scope.BOTH, INTENT)
    begun = await store.unfinished_restore(held.info.id)
    assert begun is not None
    return begun


async def marked(store: Store) -> HeldSession:
    """A session that has gone on behind a checkpoint."""
    held = await talk(store, "one?")
    await held.make_checkpoint("here")
    turn = await held.begin(opening("two?", held.info.head))
    await held.settle(turn, settled())
    return held


async def test_a_checkpoint_says_where_it_was_made_and_is_found_again(store: Store) -> None:
    held = await talk(store, "one?")
    first = await held.make_checkpoint("nul \0 and \ud800")
    turn = await held.begin(opening("two?", held.info.head))
    await held.settle(turn, settled())
    second = await held.make_checkpoint("")

    assert (first.message_count, second.message_count) == (2, 4)
    assert first.kind is CheckpointKind.MANUAL
    assert await store.checkpoints(held.info.id, None, 9) == [second, first]
    assert await store.checkpoints(held.info.id, second.id, 9) == [first]
    assert await store.checkpoint(held.info.id, first.id) == first
    landing = await store.checkpoint_landing(held.info.id, first.id)
    assert (landing.cause, landing.entry_id) == (Cause.RESTORE, first.entry_id)
    gone = await held.travel(landing, Scope.CONVERSATION, None)
    assert gone.checkpoint_id is not None
    kept = await store.checkpoint(held.info.id, gone.checkpoint_id)
    assert (kept.kind, kept.entry_id) == (CheckpointKind.BEFORE_RESTORE, second.entry_id)
    assert kept.label.startswith(f"before checkpoint {first.id}")
    assert (await store.checkpoint_landing(held.info.id, kept.id)).what == f"checkpoint {kept.id}"


async def test_a_number_that_is_no_checkpoint_of_the_session_is_named_with_the_way_out(store: Store) -> None:
    held, other = await talk(store, "one?"), await talk(store, "other?")
    elsewhere = await other.make_checkpoint("")
    for number in (0, -1, elsewhere.id, elsewhere.id + 1, 2**63, 10**30):
        for look in (store.checkpoint, store.checkpoint_landing):
            with pytest.raises(UsageError) as refusal:
                await look(held.info.id, number)
            assert str(refusal.value).startswith("This session has no checkpoint ")
            assert refusal.value.hint == "See those it has: /checkpoints"
            assert len(str(refusal.value)) < 100


async def test_of_those_before_a_compaction_the_newest_stay_and_of_others_all(
    store: Store, database: Path
) -> None:
    held = await talk(store, "one?")
    mine = await held.make_checkpoint("mine")
    made = []
    for number in range(KEPT_BEFORE_COMPACTION + 3):
        head = held.info.head
        assert head is not None
        summary, before = await held.compact(head, f"Summary {number}", head)
        assert (summary.parent, summary.kept_from, held.info.head) == (head, head, summary.id)
        assert (before.kind, before.entry_id) == (CheckpointKind.BEFORE_COMPACTION, head)
        made.append(before)
    kept = await store.checkpoints(held.info.id, None, 100)
    assert kept == [*reversed(made[3:]), mine]
    with closing(sqlite3.connect(database)) as db:
        for attempt in (
            f"DELETE FROM checkpoints WHERE id = {mine.id}",
            f"UPDATE checkpoints SET label = 'other' WHERE id = {mine.id}",
            f"UPDATE checkpoints SET label = 'other' WHERE id = {made[-1].id}",
        ):
            with pytest.raises(sqlite3.IntegrityError, match="a checkpoint "):
                db.execute(attempt)


async def test_a_summary_that_says_nothing_changes_nothing(store: Store) -> None:
    held = await talk(store, "one?")
    head = held.info.head
    assert head is not None
    for parent, text in ((head, " \n"), (head - 1, "In short.")):
        with pytest.raises(StoreError):
            await held.compact(parent, text, None)
    assert held.info.head == head
    assert await store.checkpoints(held.info.id, None, 9) == []


async def test_a_restore_of_files_is_kept_with_what_it_was_to_do(store: Store, database: Path) -> None:
    held = await marked(store)
    begun = await under_way(store, held)

    assert begun.readable
    assert (begun.tool, begun.target, begun.entry_id) == ("restore", "checkpoint 1", 0)
    assert intent_of(begun.facts) == INTENT
    # Its process may have died: whoever holds the session next finds it as it was.
    await held.release()
    held = await store.hold(held.info.handle)
    assert await store.unfinished_restore(held.info.id) == begun
    assert await store.pending(held.info.id, held.info.head) == ()
    assert await store.missing_results(held.info.id) == []
    assert (await store.find(held.info.handle)).uncertain_count == 0
    assert await held.repair() == 0
    with pytest.raises(StoreError, match="is not uncertain"):
        await held.settle_uncertain([begun.id], FOUND)
    with pytest.raises(StoreError, match=r"cut off. Finish it or take it back: /restore"):
        await held.travel(await store.undo_landing(held.info.id), Scope.CONVERSATION, None)

    change = change_of(STEP)
    ended = await held.end_restore(begun, EventKind.COMPLETED, DONE, (change,))
    assert (ended.state, ended.changes) == (EventKind.COMPLETED, (change,))
    assert await store.execution(begun.id) == ended
    assert await store.unfinished_restore(held.info.id) is None
    back = await store.undo_landing(held.info.id)
    assert back.ledger_number is not None
    assert await store.changes_since(held.info.id, back.ledger_number) == [change]
    with pytest.raises(StoreError, match="can't follow"):
        await held.end_restore(begun, EventKind.FAILED, DONE, ())
    with pytest.raises(StoreError, match="can't follow"):
        await held.take_back_restore(begun, DONE, ())
    await store.close()
    assert check(database, database.parent / "backups").problems == []


async def test_a_restore_that_is_taken_back_takes_its_move_along(store: Store) -> None:
    held = await marked(store)
    head = held.info.head
    begun = await under_way(store, held)
    assert held.info.head != head

    ended = await held.take_back_restore(begun, Receipt("cancelled"), ())
    assert (ended.state, held.info.head) == (EventKind.CANCELLED, head)
    assert (await store.redo_landing(held.info.id)).what == "the restore"


async def test_only_files_are_put_back_and_undone(store: Store) -> None:
    held = await marked(store)
    head = held.info.head
    (made, *_) = await store.checkpoints(held.info.id, None, 1)
    gone = await held.travel(await store.checkpoint_landing(held.info.id, made.id), Scope.FILES, INTENT)
    begun = await store.unfinished_restore(held.info.id)
    assert begun is not None
    await held.end_restore(begun, EventKind.COMPLETED, DONE, (change_of(STEP),))

    assert (gone.head, held.info.head) == (head, head)
    back = await store.undo_landing(held.info.id)
    assert (back.entry_id, back.undone, back.what) == (head, gone.number, "the restore")
    assert back.ledger_number is not None
    assert await store.changes_since(held.info.id, back.ledger_number) == [change_of(STEP)]
