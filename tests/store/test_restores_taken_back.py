"""A restore of files that was taken back leaves undo and redo, files included, as they were before it."""

from __future__ import annotations

import pytest

from local_agent.domain.errors import UsageError
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.moves import Landing, Scope
from local_agent.domain.restoring import FileStep, RestoreIntent
from local_agent.domain.tools import FileChange, FileState
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import EFFECTS, WANTED, opening, settled, talk

INTENT = RestoreIntent("somewhere", (FileStep("a.txt", FileState("2" * 64), FileState("1" * 64)),))
CHANGE = FileChange("a.txt", "changed", "1" * 64, "2" * 64, 0o100644, 0o100644)


async def changed(store: Store) -> HeldSession:
    """A session whose second turn has changed a file."""
    held = await talk(store, "What is here?")
    turn = await held.begin(opening("Change it.", held.info.head))
    _, calls = await held.record(turn, WANTED, EFFECTS)
    for call in calls:
        await held.finish(await held.start(call, {}), EventKind.COMPLETED, Receipt("ok"), "text", (CHANGE,))
    await held.settle(turn, settled())
    return held


async def travel(store: Store, held: HeldSession, landing: Landing, *, end: bool) -> None:
    """Go there with files, and be cut off or come to the end."""
    await held.travel(landing, Scope.BOTH, INTENT)
    execution = await store.unfinished_restore(held.info.id)
    assert execution is not None
    if end:
        await held.end_restore(execution, EventKind.COMPLETED, Receipt("ok"), (CHANGE,))
    else:
        await held.take_back_restore(execution, Receipt("cancelled"), ())


def where(landing: Landing) -> tuple[int | None, int | None, str]:
    return landing.entry_id, landing.ledger_number, landing.what


async def test_of_an_undo_and_of_its_redo(store: Store) -> None:
    held = await changed(store)
    head, session_id = held.info.head, held.info.id
    first = await store.undo_landing(session_id)
    for _ in range(2):
        await travel(store, held, await store.undo_landing(session_id), end=False)
        assert held.info.head == head
        assert where(await store.undo_landing(session_id)) == where(first)
        with pytest.raises(UsageError):
            await store.redo_landing(session_id)
    await travel(store, held, await store.undo_landing(session_id), end=True)
    undone, again = held.info.head, await store.redo_landing(session_id)
    for _ in range(2):
        await travel(store, held, await store.redo_landing(session_id), end=False)
        assert held.info.head == undone
        assert where(await store.redo_landing(session_id)) == where(again)
    await travel(store, held, await store.redo_landing(session_id), end=True)
    assert held.info.head == head
