"""Undo, redo, checkpoints, switches and compactions of one session, on a real database."""

from __future__ import annotations

import pytest

from local_agent.domain.errors import UsageError
from local_agent.domain.moves import Cause, Scope, Travelled
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import opening, settled, talk


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
