"""One process holds a session: proven with two processes, dead ones and stopped ones."""

from __future__ import annotations

import asyncio
import os
import signal
import sqlite3
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import EntryStatus, TurnStatus
from local_agent.domain.errors import LeaseLost, SessionHeld, UnknownSession, UsageError
from local_agent.domain.ports import Reply
from local_agent.store.gateway import Gateway
from local_agent.store.held import HeldSession
from local_agent.store.holding import UNNAMED_SECONDS, Holding
from local_agent.store.leases import KernelLocks
from local_agent.store.store import Store
from tests.store.other_process import OtherProcess
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk


@pytest.fixture
def other(database: Path) -> Iterator[OtherProcess]:
    with OtherProcess(database) as process:
        yield process


@pytest.fixture
async def second(database: Path) -> AsyncIterator[Store]:
    """Another store in this process: its locks exclude the first one's as another process's would."""
    opened = Store.open(database, program_version=VERSION)
    yield opened
    await opened.close()


async def test_a_second_process_is_told_who_holds_the_session(store: Store, other: OtherProcess) -> None:
    handle = other.tell("create", "What is a tree?")["handle"]

    with pytest.raises(SessionHeld) as refusal:
        await store.hold(handle)

    assert refusal.value.handle == handle
    assert refusal.value.holder.pid == other.process.pid
    holder = (await store.find(handle)).holder
    assert holder == refusal.value.holder
    assert other.tell("keep", "still mine") == {}


async def test_a_released_session_can_be_held_at_once(store: Store, other: OtherProcess) -> None:
    handle = other.tell("create", "What is a tree?")["handle"]
    assert other.tell("settle", "A plant.") == {}
    assert other.tell("release") == {}

    assert (await store.find(handle)).holder is None
    held = await store.hold(handle)
    assert held.interrupted is None
    assert other.tell("hold", handle)["error"] == "SessionHeld"
    await held.release()
    assert other.tell("hold", handle) == {"head": held.info.head}


async def test_the_lease_of_a_killed_process_is_taken_at_once(store: Store, other: OtherProcess) -> None:
    handle = other.tell("create", "What is a tree?")["handle"]
    other.tell("keep", "A plant wi")
    other.die()

    assert (await store.find(handle)).holder is None
    held = await store.hold(handle)

    assert held.interrupted is not None
    assert held.interrupted.status is TurnStatus.INTERRUPTED
    question, answer = (await store.tail(handle, 5)).entries
    assert (question.text, answer.text) == ("What is a tree?", "A plant wi")
    assert (answer.status, answer.parent) == (EntryStatus.INTERRUPTED, question.id)
    assert held.info.head == answer.id
    assert await store.open_reply(held.info.id) is None


async def test_a_reply_stays_open_while_nobody_takes_the_lease(store: Store, other: OtherProcess) -> None:
    session = other.tell("create", "What is a tree?")
    other.tell("keep", "A plant wi")
    other.die()

    assert await store.open_reply(session["id"]) == Reply("A plant wi")
    assert len((await store.tail(session["handle"], 5)).entries) == 1


async def test_a_process_that_wakes_up_after_a_take_over_writes_nothing(
    store: Store, other: OtherProcess
) -> None:
    handle = other.tell("create", "What is a tree?")["handle"]
    other.tell("keep", "A plant wi")
    other.process.send_signal(signal.SIGSTOP)
    with pytest.raises(SessionHeld):
        await store.hold(handle)

    held = await store.take_over(handle)
    other.process.send_signal(signal.SIGCONT)

    for command in (("keep", "A plant with"), ("settle", "A plant with a trunk."), ("rename", "Mine")):
        answer = other.tell(*command)
        assert answer["error"] == "LeaseLost", answer
        assert handle in answer["line"]
    answer = other.tell("draft", "half a thought", str(held.info.id))
    assert answer["error"] == "LeaseLost"
    assert other.tell("release") == {}
    entries = (await store.tail(handle, 5)).entries
    assert [entry.text for entry in entries] == ["What is a tree?", "A plant wi"]
    turn = await held.begin(opening("And a bush?", held.info.head))
    assert await held.settle(turn, settled()) is not None
    assert (await store.find(handle)).holder == held.info.holder


async def test_who_was_taken_over_can_take_it_back(store: Store, other: OtherProcess) -> None:
    handle = other.tell("create", "What is a tree?")["handle"]
    held = await store.take_over(handle)
    assert other.tell("hold", handle)["error"] == "SessionHeld"
    assert "head" in other.tell("take_over", handle)

    with pytest.raises(LeaseLost):
        await held.rename("Mine")
    with pytest.raises(SessionHeld) as refusal:
        await store.hold(handle)
    assert refusal.value.holder.pid == other.process.pid
    assert refusal.value.holder.generation == 3


async def test_a_killed_holder_of_a_later_generation_is_replaced(store: Store, other: OtherProcess) -> None:
    held = await talk(store, "one")
    other.tell("take_over", held.info.handle)
    other.die()

    again = await store.hold(held.info.handle)
    await again.rename("Back again")
    with pytest.raises(LeaseLost):
        await held.rename("Too late")


async def test_closing_a_store_lets_its_sessions_go(store: Store, second: Store) -> None:
    held = await talk(second, "one")
    with pytest.raises(SessionHeld):
        await store.hold(held.info.handle)
    await second.close()

    assert (await store.hold(held.info.handle)).interrupted is None


async def test_what_was_let_go_is_written_no_more(store: Store) -> None:
    held = await talk(store, "one")
    await held.release()
    await held.release()

    with pytest.raises(LeaseLost, match="let go"):
        await held.begin(opening())


async def test_a_session_that_lost_its_lease_may_be_released_without_harm(
    store: Store, second: Store
) -> None:
    held = await talk(store, "one")
    taken = await second.take_over(held.info.handle)
    await held.release()

    await taken.rename("Still mine")
    with pytest.raises(SessionHeld):
        await store.hold(held.info.handle)


async def test_unknown_and_malformed_handles_are_refused(store: Store) -> None:
    held = await talk(store, "one")
    near = held.info.handle[:-1] + ("0" if held.info.handle[-1] != "0" else "1")

    for take in (store.hold, store.take_over, store.find):
        with pytest.raises(UnknownSession) as unknown:
            await take(near)
        assert held.info.handle in unknown.value.hint
        for malformed in ("42", "S42", held.info.handle + "0", held.info.handle[:6], "g" * 7, "", "\ud800"):
            with pytest.raises(UsageError, match="no session handle"):
                await take(malformed)
    assert (await store.find(f"  {held.info.handle.upper()} ")).handle == held.info.handle


async def test_a_sessions_draft_follows_the_session(store: Store, other: OtherProcess) -> None:
    session = other.tell("create", "What is a tree?")
    other.tell("draft", "half a thought", str(session["id"]))
    other.die()

    held = await store.hold(session["handle"])
    assert await store.take_draft(ROOT, held.info.id) == Draft("half a thought")
    await store.save_draft(ROOT, held.info.id, Draft(""))
    assert await store.take_draft(ROOT, held.info.id) is None


async def test_a_lock_can_be_released_from_another_thread(store: Store, second: Store) -> None:
    held, _ = await store.create(new_session(), opening())
    await held.release()
    assert (await second.hold(held.info.handle)).interrupted is not None


async def test_a_lock_that_is_being_let_go_is_waited_for(store: Store, database: Path) -> None:
    """The row names nobody while the lock is still or already taken: another opener is in between."""
    held = await talk(store, "one")
    await held.release()
    lock = KernelLocks(database.parent / "locks").take(held.info.handle, 1)
    assert lock is not None
    opening_it = asyncio.create_task(store.hold(held.info.handle))
    await asyncio.wait({opening_it}, timeout=0.1)
    assert not opening_it.done()
    lock.release()
    assert (await opening_it).info.handle == held.info.handle


async def test_who_let_go_without_saying_so_is_not_named_for_the_next(
    store: Store, second: Store, database: Path
) -> None:
    """A holder that could not write its release lives on; the next one has the lock, its row is to come."""
    held = await talk(store, "one")
    with closing(sqlite3.connect(database)) as db:
        (row,) = db.execute("SELECT token FROM leases").fetchall()
        await held.release()
        db.execute("UPDATE leases SET token = ?", row)
        db.commit()
    lock = KernelLocks(database.parent / "locks").take(held.info.handle, 1)
    assert lock is not None
    lock.sign("of a row that is not written yet")
    asking = asyncio.create_task(second.hold(held.info.handle))
    await asyncio.wait({asking}, timeout=0.1)
    assert not asking.done()
    lock.release()
    assert (await asking).info.handle == held.info.handle


def pretend(database: Path, session_id: int, **columns: str | int) -> None:
    """Have the row of a lease name another process than the one that wrote it."""
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    with closing(sqlite3.connect(database)) as db:
        db.execute(f"UPDATE leases SET {changes} WHERE session_id = :id", {**columns, "id": session_id})
        db.commit()


@pytest.mark.parametrize(
    ("what", "columns"),
    [
        ("the number is used again", {"pid": os.getpid(), "process_start": "1"}),
        ("the machine was started again", {"pid": os.getpid(), "boot_id": "another"}),
        ("nothing has the number", {"pid": 2**22 + 1}),
    ],
)
async def test_a_row_that_names_another_life_of_a_number_names_nobody(
    store: Store, other: OtherProcess, database: Path, what: str, columns: dict[str, str | int]
) -> None:
    session = other.tell("create", "one")
    other.die()
    pretend(database, session["id"], **columns)

    assert (await store.find(session["handle"])).holder is None, what
    await store.rename(session["handle"], "Another title")
    started = time.monotonic()
    held = await store.hold(session["handle"])
    assert time.monotonic() - started < UNNAMED_SECONDS
    assert held.info.holder is not None and held.info.holder.pid == os.getpid()


async def test_a_row_of_another_machine_is_believed_where_locks_do_not_reach_it(
    store: Store, other: OtherProcess, gateway: Gateway, database: Path
) -> None:
    session = other.tell("create", "one")
    other.die()
    pretend(database, session["id"], pid=4711, machine_id="another", host="attic", terminal="/dev/pts/9")
    shared = Holding(gateway, KernelLocks(database.parent / "locks", trusted=False))

    with pytest.raises(SessionHeld, match="is open in process 4711 on /dev/pts/9 since") as refusal:
        await shared.hold(session["handle"])
    assert refusal.value.holder.host == "attic"
    taken = await shared.take_over(session["handle"])
    assert taken.info.holder is not None and taken.info.holder.generation == 2
    await taken.release()

    pretend(database, session["id"], token="left", machine_id="another")
    assert (await store.hold(session["handle"])).info.handle == session["handle"], "a lock of this disk is"


async def test_a_session_held_elsewhere_is_not_renamed_or_put_away(store: Store, other: OtherProcess) -> None:
    handle = other.tell("create", "one")["handle"]
    for change in (store.rename(handle, "Mine"), store.trash(handle), store.untrash(handle)):
        with pytest.raises(SessionHeld) as refusal:
            await change
        assert refusal.value.hint.endswith(f"local-agent --resume {handle}")
    assert (await store.find(handle)).title == new_session().title
    other.die()
    await store.trash(handle)


async def test_who_takes_over_a_moment_too_early_is_told(store: Store, second: Store) -> None:
    """Two decide at once: both raise the generation, the last one has the session."""
    held = await talk(store, "one")
    await held.release()
    taken = await asyncio.gather(
        store.take_over(held.info.handle), second.take_over(held.info.handle), return_exceptions=True
    )
    still = []
    for each in taken:
        if isinstance(each, HeldSession):
            try:
                await each.rename("Mine")
            except LeaseLost:
                continue
            still.append(each)
        else:
            assert isinstance(each, LeaseLost | SessionHeld)
    (owner,) = still
    holder = (await store.find(held.info.handle)).holder
    assert holder is not None and holder.generation == 3
    await owner.rename("Still mine")
