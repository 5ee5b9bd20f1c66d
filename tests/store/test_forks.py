"""A fork stands on the entries of another session and goes its own way from there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from local_agent.domain.entries import EntryStatus, TurnStatus
from local_agent.domain.errors import StoreError, UnknownSession, UsageError
from local_agent.domain.ports import Outcome, Reply
from local_agent.domain.requests import build_messages
from local_agent.domain.sessions import SessionInfo
from local_agent.store import lookup
from local_agent.store.store import Store
from tests.store.other_process import OtherProcess
from tests.store.samples import ROOT, failed, new_session, opening, settled, talk


@pytest.fixture
def other(database: Path) -> Iterator[OtherProcess]:
    with OtherProcess(database) as process:
        yield process


async def texts(store: Store, handle: str) -> list[str]:
    return [entry.text for entry in (await store.tail(handle, 100)).entries]


async def test_a_fork_is_a_pointer_to_the_same_entry(store: Store) -> None:
    parent = await talk(store, "one", "two", title="Polish the page")
    await parent.set_model("small:1b", pinned=True)
    before = await store.tail(parent.info.id, 100)

    fork = await store.fork(f" {parent.info.handle.upper()} ")

    assert (fork.head, fork.fork_entry) == (parent.info.head, parent.info.head)
    assert (fork.parent_session, fork.forked_from) == (parent.info.id, parent.info.handle)
    assert (fork.title, fork.title_source) == ("Polish the page", "task")
    assert (fork.model, fork.model_pinned, fork.workspace_root) == ("small:1b", True, ROOT)
    assert (fork.turn_count, fork.error_count, fork.holder, fork.headless) == (2, 0, None, False)
    assert await store.tail(fork.id, 100) == before, "entries, turns and errors are the parent's own"
    assert await store.before(fork.id, before.entries[2].id, 9) == await store.before(
        parent.info.id, before.entries[2].id, 9
    )
    named = await store.fork(parent.info.handle, "Another try")
    assert (named.title, named.title_source) == ("Another try", "person")


async def test_both_go_on_by_themselves(store: Store) -> None:
    parent = await talk(store, "one")
    fork = await store.hold((await store.fork(parent.info.handle)).handle)
    for held, question in ((fork, "here"), (parent, "there"), (fork, "here again")):
        turn = await held.begin(opening(question, held.info.head))
        await held.settle(turn, settled(f"On {question}"))

    assert await texts(store, parent.info.handle) == ["one", "On one", "there", "On there"]
    forked = ["one", "On one", "here", "On here", "here again", "On here again"]
    assert await texts(store, fork.info.handle) == forked
    assert fork.info.head is not None
    messages = build_messages("", await store.model_path(fork.info.head))
    assert [message.content for message in messages] == forked
    assert (fork.info.turn_count, parent.info.turn_count) == (3, 2)


async def test_an_inherited_question_can_be_asked_again(store: Store) -> None:
    parent = await talk(store, "one", "two")
    fork = await store.hold((await store.fork(parent.info.handle)).handle)
    asked = (await store.tail(fork.info.id, 2)).entries[0]
    turn = await fork.begin(opening("two", asked.parent))
    await fork.settle(turn, settled("On two, again"))

    assert await texts(store, fork.info.handle) == ["one", "On one", "two", "On two, again"]
    assert await texts(store, parent.info.handle) == ["one", "On one", "two", "On two"]


async def test_the_fork_of_a_held_session_starts_at_its_last_settled_turn(
    store: Store, other: OtherProcess
) -> None:
    session = other.tell("create", "one")
    other.tell("settle", "On one")
    other.tell("begin", "two")
    other.tell("keep", "half an ans")

    fork = await store.fork(session["handle"])
    assert await texts(store, fork.handle) == ["one", "On one"]
    assert await store.open_reply(fork.id) is None
    assert fork.turn_count == 1
    assert (await store.hold(fork.handle)).interrupted is None
    assert other.tell("settle", "half an answer, and the rest") == {}
    assert await texts(store, fork.handle) == ["one", "On one"]
    assert (await texts(store, session["handle"]))[2:] == ["two", "half an answer, and the rest"]

    other.tell("begin", "three")
    other.tell("keep", "never finished")
    other.die()
    again = await store.fork(session["handle"])
    assert (await texts(store, again.handle))[-1] == "half an answer, and the rest"
    assert (await store.hold(session["handle"])).interrupted is not None


async def test_a_retry_that_runs_is_no_reason_to_lose_the_answer_it_left(store: Store) -> None:
    parent = await talk(store, "one", "two")
    asked = (await store.tail(parent.info.id, 2)).entries[0]
    await parent.begin(opening("two", asked.parent))

    fork = await store.fork(parent.info.handle)
    assert await texts(store, fork.handle) == ["one", "On one", "two", "On two"]


async def test_a_fork_of_a_fork_that_was_not_used_starts_where_that_did(store: Store) -> None:
    parent = await talk(store, "one")
    first = await store.fork(parent.info.handle)
    held = await store.hold(first.handle)
    await held.begin(opening("running", held.info.head))
    second = await store.fork(first.handle)

    assert second.head == first.head == parent.info.head
    assert second.forked_from == first.handle
    assert second.turn_count == 1


@pytest.mark.parametrize("state", ["running", "writing", "failed"])
async def test_a_session_without_an_answer_is_not_forked(store: Store, state: str) -> None:
    held, turn = await store.create(new_session(), opening())
    if state == "writing":
        await held.keep(turn, Reply("half"))
    elif state == "failed":
        await held.settle(turn, failed())
    with pytest.raises(StoreError) as refused:
        await store.fork(held.info.handle)
    assert refused.value.line == (
        f"Session {held.info.handle} has no finished answer yet, so there is nothing to fork."
    )
    assert len(await store.page(ROOT)) == 1


async def test_an_interrupted_answer_and_a_failed_question_can_be_forked(store: Store) -> None:
    held, turn = await store.create(new_session(), opening("one"))
    half = Outcome(
        TurnStatus.INTERRUPTED, EntryStatus.INTERRUPTED, "interrupted", Reply("half"), settled().usage
    )
    await held.settle(turn, half)
    await held.settle(await held.begin(opening("two", held.info.head)), failed())

    fork = await store.fork(held.info.handle)
    tail = await store.tail(fork.id, 9)
    assert [entry.text for entry in tail.entries] == ["one", "half", "two"]
    assert [error.line for error in tail.errors.values()] == ["The server is gone."]
    assert fork.error_count == 0 and await store.errors(fork.id) == []


async def test_what_cannot_be_forked_is_one_line(store: Store) -> None:
    held = await talk(store, "one")
    await store.trash(held.info.handle)
    with pytest.raises(StoreError, match="is in the trash") as refused:
        await store.fork(held.info.handle)
    assert refused.value.hint.endswith(f"local-agent session untrash {held.info.handle}")
    with pytest.raises(UnknownSession):
        await store.fork("0000000" if held.info.handle != "0000000" else "1111111")
    with pytest.raises(UsageError, match="no session handle"):
        await store.fork("42")


async def test_a_new_fork_is_the_newest_and_pages_miss_nothing(store: Store, database: Path) -> None:
    old = await talk(store, "old")
    await old.release()
    newest = await talk(store, "new")
    forks: list[SessionInfo] = [await store.fork(old.info.handle, f"Fork {number}") for number in range(6)]

    assert (await store.latest(ROOT)) == forks[-1]
    assert (found := lookup.latest(database, ROOT)) is not None and found.handle == forks[-1].handle
    for limit in (1, 2, 3, 7, 8, 9):
        seen: list[str] = []
        before = None
        while page := await store.page(ROOT, limit=limit, before=before):
            seen += [info.handle for info in page]
            before = page[-1].place
        expected = [info.handle for info in (*reversed(forks), newest.info, old.info)]
        assert seen == expected, limit
    assert lookup.known_handles(database, 9) == expected

    turn = await newest.begin(opening("more", newest.info.head))
    await newest.settle(turn, settled())
    assert (latest := await store.latest(ROOT)) is not None and latest.handle == newest.info.handle


async def test_recall_reaches_what_a_fork_stands_on(store: Store) -> None:
    other = await talk(store, "elsewhere")
    parent = await talk(store, "first", "left behind")
    first = (await store.tail(parent.info.id, 9)).entries[1]
    branch = await parent.begin(opening("second", first.id))
    await parent.settle(branch, settled())
    fork = await store.fork(parent.info.handle)
    held = await store.hold(fork.handle)
    await held.settle(await held.begin(opening("mine", held.info.head)), settled())
    await parent.settle(await parent.begin(opening("after the fork", parent.info.head)), settled())

    assert await store.questions(ROOT, fork.id, 9) == [
        "mine", "second", "first", "after the fork", "left behind", "elsewhere",
    ]  # fmt: skip
    assert await store.questions(ROOT, fork.id, 2) == ["mine", "second"]

    for question, visible in (
        (fork.id, ["mine", "second", "first", "elsewhere"]),
        (None, ["mine", "second", "first", "elsewhere"]),
        (other.info.id, ["elsewhere", "mine", "second", "first"]),
    ):
        await store.untrash(parent.info.handle)
        await store.trash(parent.info.handle)
        assert await store.questions(ROOT, question, 9) == visible
    grandchild = await store.fork(fork.handle)
    await store.trash(fork.handle)
    assert await store.questions(ROOT, None, 9) == ["mine", "second", "first", "elsewhere"]
    assert await texts(store, grandchild.handle) == await texts(store, fork.handle)
    await store.trash(grandchild.handle)
    assert await store.questions(ROOT, None, 9) == ["elsewhere"]
