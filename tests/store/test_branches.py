"""A session's tree: every branch that it wrote, and the path that it inherited as a fork."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from local_agent.domain.entries import Kind, TurnStatus
from local_agent.domain.errors import StoreError
from local_agent.domain.moves import Cause, Scope
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import BASH, fill, new_session, opening, run_call, settled, talk, wanting

TREE_SECONDS = 0.3
SLOW_MACHINE = 5


async def ask(held: HeldSession, question: str, parent: int | None) -> int:
    turn = await held.begin(opening(question, parent))
    entry = await held.settle(turn, settled(f"On {question}"))
    assert entry is not None
    return entry.id


async def test_a_node_is_a_turn_a_summary_or_a_marker(store: Store) -> None:
    held, turn, (read, bash) = await wanting(store)
    for call in (read, bash):
        await run_call(held, call)
    await held.settle(turn, settled())
    end = held.info.head
    assert end is not None
    marker = await held.mark(end, "pin 1")
    summary, _ = await held.compact(marker, "In short: " + "x" * 900, turn.question.id)
    command = await held.begin(replace(opening("make", summary.id), command=BASH))
    await held.settle(command, settled(""))

    asked, pinned, short, ran = await store.tree(held.info.id)
    assert (asked.entry_id, asked.last, asked.parent) == (turn.question.id, end, None)
    assert (asked.kind, asked.text, asked.status) == (Kind.QUESTION, "What is a tree?", TurnStatus.SETTLED)
    assert (pinned.entry_id, pinned.parent, pinned.status) == (marker, asked.entry_id, None)
    assert (short.kind, len(short.text), short.parent) == (Kind.SUMMARY, 200, marker)
    assert (ran.kind, ran.text, ran.last) == (Kind.COMMAND, "make", command.question.id)
    assert held.info.branches == 1


async def test_a_fork_shows_what_it_inherited_and_goes_back_into_it(store: Store) -> None:
    parent = await talk(store, "one?", "two?")
    await ask(parent, "aside?", (await store.tree(parent.info.id))[0].last)
    one, two, aside = await store.tree(parent.info.id)
    fork = await store.hold((await store.fork(parent.info.handle, "", two.last)).handle)
    assert (fork.info.turn_count, fork.info.branches) == (2, 1)
    await ask(fork, "three?", two.last)
    assert fork.info.branches == 1

    nodes = await store.tree(fork.info.id)
    assert [(node.text, node.inherited) for node in nodes] == [
        ("one?", True), ("two?", True), ("three?", False)
    ]  # fmt: skip
    with pytest.raises(Exception, match="not in this conversation"):
        await store.entry_landing(fork.info.id, aside.last, Cause.SWITCH)
    landing = await store.entry_landing(fork.info.id, one.last, Cause.SWITCH)
    assert landing.what == 'the turn "one?"'
    await fork.travel(landing, Scope.CONVERSATION, None)
    await ask(fork, "instead?", one.last)
    assert fork.info.branches == 2
    again = await store.fork(fork.info.handle, "", one.last)
    assert (again.turn_count, again.fork_entry) == (1, one.last)
    assert [node.text for node in await store.tree(again.id)] == ["one?"]


async def test_a_fork_begins_where_things_are_settled(store: Store) -> None:
    held, turn, (read, bash) = await wanting(store)
    for entry_id in (turn.question.id, read.entry_id):
        with pytest.raises(StoreError, match="That turn is not over yet"):
            await store.fork(held.info.handle, "", entry_id)
    await run_call(held, read)
    await run_call(held, bash)
    await held.settle(turn, settled())
    (tail,) = [entry for entry in (await store.tail(held.info.id, 9)).entries if entry.call_number == 1]
    fork = await store.fork(held.info.handle, "", tail.id)
    assert fork.fork_entry == read.entry_id, "a result is no end of a path: what called it is"


async def test_a_session_of_commands_alone_can_be_forked(store: Store) -> None:
    command = replace(opening("make"), command=BASH)
    held, turn = await store.create(new_session(), command)
    (call,) = await held.requested(turn)
    await run_call(held, call)
    await held.settle(turn, settled(""))
    assert (await store.fork(held.info.handle)).fork_entry == turn.question.id


async def test_branches_are_told_in_lists(store: Store) -> None:
    held = await talk(store, "one?", "two?")
    one, _ = await store.tree(held.info.id)
    await ask(held, "again?", one.last)
    await ask(held, "from the top?", None)
    assert held.info.branches == 3
    assert [info.branches for info in await store.page(None)] == [3]


async def test_a_tree_of_ten_thousand_entries_is_quickly_there_also_with_damaged_rows(
    store: Store, database: Path
) -> None:
    held = await talk(store, "one?")
    fill(database, held.info.id, 10_000)
    began = time.perf_counter()
    nodes = await store.tree(held.info.id)
    assert time.perf_counter() - began < TREE_SECONDS * SLOW_MACHINE
    assert len(nodes) == 5_001
    assert all(after.parent == before.entry_id for before, after in pairwise(nodes))
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER entries_never_change")
        db.execute("UPDATE entries SET text = x'ff00', created_at = 9, kind = 'odd' WHERE id = 3")
        db.execute("UPDATE turns SET status = 'odd' WHERE id = 2")
        db.commit()
    odd = await store.tree(held.info.id)
    assert {node.entry_id for node in nodes} - {node.entry_id for node in odd} <= {3}
    assert odd[-1] == nodes[-1]
