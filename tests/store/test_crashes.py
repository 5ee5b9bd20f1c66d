"""Killed at any named place, a process loses nothing that was finished and leaves nothing half done."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import EntryStatus, TurnStatus
from local_agent.domain.ports import Reply
from local_agent.domain.requests import build_messages
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, new_session, opening, settled
from tests.support.crash import crash_at, kill_at_random


def two_turns(database: str) -> None:
    """Child: a session with a draft and two turns, every step once."""

    async def run() -> None:
        store = Store.open(Path(database), program_version=VERSION)
        await store.save_draft(ROOT, None, Draft("one"))
        held, turn = await store.create(new_session(), opening("one"))
        await store.save_draft(ROOT, None, Draft(""))
        await held.keep(turn, Reply("answ"))
        await held.settle(turn, settled("answer one"))
        turn = await held.begin(opening("two", held.info.head))
        await held.keep(turn, Reply("answ"))
        await held.keep(turn, Reply("answer t"))
        await held.settle(turn, settled("answer two"))
        await store.close()

    asyncio.run(run())


def many_turns(database: str) -> None:
    """Child: turns until it is killed."""

    async def run() -> None:
        store = Store.open(Path(database), program_version=VERSION)
        held, turn = await store.create(new_session(), opening("one"))
        for _ in range(1000):
            for length in range(1, 5):
                await held.keep(turn, Reply("word " * length))
            await held.settle(turn, settled("word " * 5))
            turn = await held.begin(opening("next", held.info.head))

    asyncio.run(run())


async def resume(database: Path) -> list[tuple[str, EntryStatus]]:
    """Hold the newest session as the next start does, and go on with it."""
    store = Store.open(database, program_version=VERSION)
    try:
        info = await store.latest(ROOT)
        if info is None:
            return []
        held = await store.hold(info.handle)
        entries = (await store.tail(info.handle, 50)).entries
        assert held.info.head == entries[-1].id
        assert await store.open_reply(info.id) is None
        turn = await held.begin(opening("and then?", held.info.head))
        messages = build_messages("", await held.model_path(turn.question.id))
        assert messages[-1].content == "and then?"
        await held.settle(turn, settled())
        statuses = {each.status for each in (await store.tail(info.handle, 50)).turns.values()}
        assert TurnStatus.RUNNING not in statuses
        return [(entry.text, entry.status) for entry in entries]
    finally:
        await store.close()


SETTLED, CUT = EntryStatus.SETTLED, EntryStatus.INTERRUPTED
ONE = [("one", SETTLED)]
ANSWERED = [*ONE, ("answer one", SETTLED)]
TWO = [*ANSWERED, ("two", SETTLED)]


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("session.create:before-commit", []),
        ("session.create:after-commit", ONE),
        ("reply.keep:before-commit", ONE),
        ("reply.keep:after-commit", [*ONE, ("answ", CUT)]),
        ("turn.settle:before-commit", [*ONE, ("answ", CUT)]),
        ("turn.settle:after-commit", ANSWERED),
        ("turn.begin:before-commit", ANSWERED),
        ("turn.begin:after-commit", TWO),
        ("reply.keep:before-commit:3", [*TWO, ("answ", CUT)]),
        ("reply.keep:after-commit:3", [*TWO, ("answer t", CUT)]),
        ("turn.settle:before-commit:2", [*TWO, ("answer t", CUT)]),
        ("turn.settle:after-commit:2", [*TWO, ("answer two", SETTLED)]),
        ("lease.release:before-commit", [*TWO, ("answer two", SETTLED)]),
    ],
)
async def test_a_kill_at_a_commit_leaves_all_of_it_or_nothing(
    built: Path, point: str, left: list[tuple[str, EntryStatus]]
) -> None:
    crash_at(point, two_turns, str(built))

    assert await resume(built) == left


@pytest.mark.parametrize(
    ("point", "left"),
    [
        ("draft.save:before-commit", None),
        ("draft.save:after-commit", Draft("one")),
        ("session.create:before-commit", Draft("one")),
        ("draft.save:after-commit:2", None),
    ],
)
async def test_a_draft_survives_the_process_that_typed_it(
    built: Path, point: str, left: Draft | None
) -> None:
    crash_at(point, two_turns, str(built))

    store = Store.open(built, program_version=VERSION)
    assert await store.take_draft(ROOT, None) == left
    await store.close()


@pytest.mark.parametrize("seed", range(2))
async def test_a_kill_at_any_instant_leaves_a_session_that_goes_on(built: Path, seed: int) -> None:
    kill_at_random(many_turns, str(built), within=3.0, seed=seed)

    entries = await resume(built)
    assert {text for text, status in entries if status is SETTLED} <= {"one", "next", "word " * 5}
    for text, status in entries:
        assert status is SETTLED or text.strip("word ") == ""
    with closing(sqlite3.connect(built)) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert db.execute("PRAGMA foreign_key_check").fetchall() == []
