"""Undo, redo, checkpoints, switches and compactions of one session, on a real database."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import PICTURES_FORGOTTEN
from local_agent.domain.errors import StoreError, UsageError
from local_agent.domain.ledger import EventKind as K
from local_agent.domain.ledger import Receipt
from local_agent.domain.moves import Cause, Scope, Travelled
from local_agent.domain.ports import Reply
from local_agent.domain.tools import FileChange
from local_agent.store import lookup
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import BASH, EFFECTS, ROOT, VERSION, WANTED, opening, reply_half, settled, talk
from tests.support.crash import crash_at


async def ask(held: HeldSession, question: str) -> int | None:
    """A settled turn behind the head; the head after it."""
    turn = await held.begin(opening(question, held.info.head))
    await held.settle(turn, settled(f"On {question}"))
    return held.info.head


async def undo(store: Store, held: HeldSession) -> Travelled:
    return await held.travel(await store.undo_landing(held.info.id), Scope.CONVERSATION, None)


async def redo(store: Store, held: HeldSession) -> Travelled:
    return await held.travel(await store.redo_landing(held.info.id), Scope.CONVERSATION, None)


async def test_turns_are_undone_to_before_the_first_and_done_again(store: Store) -> None:
    held = await talk(store, "one?")
    first = held.info.head
    second = await ask(held, "two?")

    landing = await store.undo_landing(held.info.id)
    assert (landing.entry_id, landing.what) == (first, 'the turn "two?"')
    assert landing.question is not None and landing.question.text == "two?"
    assert (await undo(store, held)).head == first
    assert (await undo(store, held)).head is None
    assert held.info.head is None
    with pytest.raises(UsageError, match="nothing to undo"):
        await store.undo_landing(held.info.id)
    assert (await redo(store, held)).head == first
    assert (await redo(store, held)).head == second
    with pytest.raises(UsageError, match="nothing to redo"):
        await store.redo_landing(held.info.id)
    assert (await undo(store, held)).head == first


async def test_another_move_empties_what_can_be_done_again(store: Store) -> None:
    held = await talk(store, "one?", "two?")
    await undo(store, held)
    other = await ask(held, "three?")
    with pytest.raises(UsageError, match="nothing to redo"):
        await store.redo_landing(held.info.id)
    assert held.info.branches == 2

    tree = await store.tree(held.info.id)
    assert [node.text for node in tree] == ["one?", "two?", "three?"]
    assert [node.parent for node in tree] == [None, tree[0].entry_id, tree[0].entry_id]
    landing = await store.entry_landing(held.info.id, tree[1].last, Cause.SWITCH)
    await held.travel(landing, Scope.CONVERSATION, None)
    assert held.info.head == tree[1].last
    assert (await undo(store, held)).head == other


async def test_a_turn_with_calls_is_one_step_to_before_anything_that_it_did(store: Store) -> None:
    held = await talk(store, "one?")
    head = held.info.head
    before = (await store.undo_landing(held.info.id)).ledger_number
    turn = await held.begin(opening("two?", head))
    _, calls = await held.record(turn, WANTED, EFFECTS)
    for call in calls:
        change = FileChange(f"{call.id}.txt", "created", "", "1" * 64, None, 0o100755)
        await held.finish(await held.start(call, {}), K.COMPLETED, Receipt("ok"), "", (change,))
    await held.record(turn, Reply("And more.", calls=WANTED.calls), EFFECTS)
    await held.settle(turn, settled())

    landing = await store.undo_landing(held.info.id)
    assert (landing.entry_id, landing.ledger_number, landing.undone) == (head, before, 3)
    assert before is not None
    changes = await store.changes_since(held.info.id, before)
    assert [(each.path, each.mode_after) for each in changes] == [
        (f"{call.id}.txt", 0o100755) for call in calls
    ]
    (_, task) = await store.tree(held.info.id)
    end = await store.entry_landing(held.info.id, task.last, Cause.SWITCH)
    assert end.ledger_number is not None
    assert await store.changes_since(held.info.id, end.ledger_number) == []


async def test_a_command_is_undone_with_what_it_did(store: Store) -> None:
    held = await talk(store, "one?")
    turn = await held.begin(replace(opening("make", held.info.head), command=BASH))
    (call,) = await held.requested(turn)
    change = FileChange("a.txt", "created", "", "1" * 64)
    await held.finish(await held.start(call, {}), K.COMPLETED, Receipt("ok"), "", (change,))
    await held.settle(turn, settled(""))

    landing = await store.undo_landing(held.info.id)
    assert landing.what == 'the turn "!make"'
    assert landing.ledger_number is not None
    assert await store.changes_since(held.info.id, landing.ledger_number) == [change]
    here = await store.entry_landing(held.info.id, turn.question.id, Cause.SWITCH)
    assert here.ledger_number is not None
    assert await store.changes_since(held.info.id, here.ledger_number) == [], "the command is over there"


async def test_what_a_dead_process_left_is_one_step_with_its_turn(built: Path) -> None:
    crash_at("reply.keep:after-commit", half_a_turn, str(built))
    store = Store.open(built, program_version=VERSION)
    info = await store.latest(ROOT)
    assert info is not None
    held = await store.hold(info.handle)

    await undo(store, held)
    assert (await store.tail(info.id, 9)).entries[-1].text == "On one?"
    await redo(store, held)
    assert (await store.tail(info.id, 9)).entries[-1].text == "A plant wi"
    await store.close()


def half_a_turn(database: str) -> None:
    async def live() -> None:
        store = Store.open(Path(database), program_version=VERSION)
        held = await talk(store, "one?")
        await reply_half(held, await held.begin(opening("two?", held.info.head)))

    asyncio.run(live())


async def test_what_was_written_before_there_was_undo_is_undone_too(store: Store, database: Path) -> None:
    held = await talk(store, "one?", "two?")
    await held.mark(held.info.head, PICTURES_FORGOTTEN)
    ends = [node.last for node in await store.tree(held.info.id)]
    await held.release()
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER head_moves_never_change")
        db.execute("UPDATE head_moves SET ledger_number = NULL, messages = NULL, step = NULL")
        db.execute("UPDATE head_moves SET undo_below = NULL, redo_below = NULL")
        db.commit()
    held = await store.hold(held.info.handle)

    landing = await store.undo_landing(held.info.id)
    assert (landing.what, landing.ledger_number) == ("the forgetting of pictures", None)
    assert (await held.make_checkpoint("")).message_count == 4
    assert [(await undo(store, held)).head for _ in range(3)] == [ends[1], ends[0], None]
    assert [(await redo(store, held)).head for _ in range(3)] == ends
    last = await ask(held, "three?")
    assert (await held.make_checkpoint("")).message_count == 6
    assert (await undo(store, held)).head == ends[2]
    assert (await redo(store, held)).head == last


async def test_a_look_is_void_once_something_has_happened(store: Store) -> None:
    held = await talk(store, "one?", "two?")
    landing = await store.undo_landing(held.info.id)
    await held.mark(held.info.head, "pin 1")
    before = await store.find(held.info.handle)
    with pytest.raises(StoreError, match=r"Something happened meanwhile. Look again."):
        await held.travel(landing, Scope.CONVERSATION, None)
    assert await store.find(held.info.handle) == before


async def test_nothing_moves_while_a_turn_runs(store: Store) -> None:
    held = await talk(store, "one?")
    turn = await held.begin(opening("two?", held.info.head))
    with pytest.raises(StoreError, match="A turn of this session still runs"):
        await undo(store, held)
    with pytest.raises(StoreError, match="A turn of this session still runs"):
        await held.compact(turn.question.id, "In short.", None)
    assert held.info.head == turn.question.id
    assert await store.checkpoints(held.info.id, None, 9) == []


async def test_a_session_before_its_first_question_is_like_any_other(store: Store, database: Path) -> None:
    held = await talk(store, "one?")
    await undo(store, held)
    info, handle = held.info, held.info.handle
    assert info.head is None
    assert (await held.make_checkpoint("the beginning")).message_count == 0
    await store.save_draft(ROOT, info.id, Draft("one?"))

    assert await store.latest(ROOT) == await store.find(handle) == info
    assert lookup.latest(database, ROOT) is not None
    assert await store.page(ROOT) == [info]
    assert (await store.tail(handle, 9)).entries == ()
    assert (await store.audit(handle, 9)).path == ()
    assert len((await store.audit(handle, 9)).entries) == 2
    assert await store.pending(info.id, info.head) == ()
    assert await store.questions(ROOT, info.id, 9) == ["one?"]
    assert [node.text for node in await store.tree(info.id)] == ["one?"]
    assert (await store.mirrored(info.id)).tail.entries == ()
    with pytest.raises(StoreError, match="stands before its first question"):
        await store.fork(handle)
    await held.release()
    await store.trash(handle)
    await store.untrash(handle)
    held = await store.hold(handle)
    (made,) = await store.checkpoints(info.id, None, 9)
    end = await ask(held, "another?")
    assert held.info.branches == 2
    gone = await held.travel(await store.checkpoint_landing(info.id, made.id), Scope.BOTH, None)
    assert gone.head is None
    assert (await undo(store, held)).head == end


async def test_an_entry_of_another_session_is_no_place_to_go(store: Store) -> None:
    held = await talk(store, "one?")
    other = await talk(store, "other?")
    assert other.info.head is not None
    for entry_id in (other.info.head, 0, -1, 2**63, 10**30, 99_999):
        with pytest.raises(UsageError, match=r"not in this conversation. Choose one: /tree"):
            await store.entry_landing(held.info.id, entry_id, Cause.SWITCH)
        with pytest.raises(UsageError, match="not in this conversation"):
            await store.fork(held.info.handle, "", entry_id)


@pytest.mark.parametrize(
    "odd", ["cause = 'odd'", "step = 999", "undo_below = 999", "redo_below = x'ff'", "to_entry = 999"]
)
async def test_moves_that_nothing_of_ours_wrote_end_no_program(
    store: Store, database: Path, odd: str
) -> None:
    held = await talk(store, "one?", "two?")
    await undo(store, held)
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER head_moves_never_change")
        db.execute(f"UPDATE head_moves SET {odd}")
        db.commit()
    for look in (store.undo_landing, store.redo_landing):
        with suppress(UsageError):
            await look(held.info.id)
    assert await ask(held, "three?") == held.info.head
    assert (await undo(store, held)).head == (await store.tree(held.info.id))[0].last
