"""One process holds a session: proven with two processes, dead ones and stopped ones."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from local_agent.domain.entries import EntryStatus, TurnStatus
from local_agent.domain.errors import LeaseLost, SessionHeld, UnknownSession, UsageError
from local_agent.domain.ports import Reply
from local_agent.domain.sessions import Draft
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
