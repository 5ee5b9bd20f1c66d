"""Pictures of entries: rows that name them, shared by every path, and no path lost with them."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, Kind
from local_agent.domain.pictures import Picture
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk
from tests.store.test_paths import spoil
from tests.support.sql_meter import metered

CAT = Picture("ca" * 32, "cat \x1b[31m\udc80.png", "image/png", 120, 3, 4)
DOG = Picture("d0" * 32, "dog.jpg", "image/jpeg", 90_000, 4000, 3000)
CLEAN = replace(CAT, name="cat \u241b[31m\ufffd.png")


async def shown(store: Store, *asked: tuple[Picture, ...]) -> HeldSession:
    """A session with one settled turn for each group of pictures."""
    held: HeldSession | None = None
    for number, pictures in enumerate(asked):
        parent = held.info.head if held is not None else None
        asking = replace(opening(f"question {number}", parent), pictures=pictures)
        if held is None:
            held, turn = await store.create(new_session(), asking)
        else:
            turn = await held.begin(asking)
        await held.settle(turn, settled())
    assert held is not None
    return held


def pictures(entries: tuple[Entry, ...] | list[Entry]) -> list[tuple[Picture, ...]]:
    return [entry.pictures for entry in entries if entry.kind is Kind.QUESTION]


def change(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as db:
        for statement in ("DROP TRIGGER attachments_never_change", *statements):
            db.execute(statement)
        db.commit()


async def test_pictures_come_back_in_their_order_with_every_way_to_read(store: Store) -> None:
    held = await shown(store, (CAT, DOG, CAT), (), (DOG,))
    expected = [(CLEAN, DOG, CLEAN), (), (DOG,)]

    assert pictures((await store.tail(held.info.handle, 9)).entries) == expected
    assert held.info.head is not None
    assert pictures(await held.model_path(held.info.head)) == expected
    assert pictures((await store.before(held.info.id, held.info.head, 9)).entries) == expected
    fork = await store.fork(held.info.handle)
    assert pictures((await store.tail(fork.id, 9)).entries) == expected


async def test_what_is_forgotten_is_gone_behind_the_marker_and_on_no_other_path(store: Store) -> None:
    held = await shown(store, (CAT,), (DOG,))
    fork = await store.fork(held.info.handle)
    before = held.info.head
    marker = await held.mark(before, PICTURES_FORGOTTEN)
    turn = await held.begin(replace(opening("and this?", marker), pictures=(CAT,)))
    await held.settle(turn, settled())

    tail = await store.tail(held.info.id, 9)
    assert pictures(tail.entries) == [(), (), (CLEAN,)]
    newest = await store.tail(held.info.id, 2)
    assert pictures(newest.entries) == [(CLEAN,)]
    assert pictures((await store.before(held.info.id, newest.entries[0].id, 9)).entries) == [(), ()]
    assert pictures((await store.before(held.info.id, tail.entries[2].id, 9)).entries) == [()]
    assert held.info.head is not None and before is not None
    assert pictures((await store.tail(fork.id, 9)).entries) == [(CLEAN,), (DOG,)]
    assert await store.picture_digests() == {CAT.sha256, DOG.sha256}, "still needed on the other path"


@pytest.mark.parametrize(
    "statement", ["UPDATE attachments SET name = 'x'", "DELETE FROM attachments", "REPLACE"]
)
async def test_an_attachment_never_changes(store: Store, database: Path, statement: str) -> None:
    await shown(store, (CAT,))
    if statement == "REPLACE":
        statement = "INSERT OR REPLACE INTO attachments SELECT * FROM attachments"
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA recursive_triggers = ON")
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("sha256", "'../../etc/passwd'"),
        ("sha256", "x'00ff'"),
        ("size", "'many'"),
        ("width", "x'00'"),
        ("name", "CAST(x'fffe' AS TEXT)"),
        ("mime", "x'00'"),
    ],
)
async def test_rows_that_nothing_of_ours_wrote_cost_no_text(
    store: Store, database: Path, column: str, value: str
) -> None:
    held = await shown(store, (CAT, DOG))
    change(database, f"UPDATE attachments SET {column} = {value} WHERE number = 0")

    first, _ = (await store.tail(held.info.id, 9)).entries
    assert first.text == "question 0" and first.readable
    assert first.pictures[-1] == DOG
    assert all(len(each.sha256) == 64 and each.name for each in first.pictures)


async def test_a_damaged_page_of_attachments_costs_no_text(built: Path) -> None:
    store = Store.open(built, program_version=VERSION)
    held = await shown(store, (replace(CAT, name="a-name-to-find"),), ())
    await store.close()
    spoil(built, "a-name-to-find")

    store = Store.open(built, program_version=VERSION)
    entries = (await store.tail(held.info.id, 9)).entries
    await store.close()
    assert [entry.readable for entry in entries] == [True] * 4
    assert pictures(entries) == [(), ()]


async def test_drafts_and_their_queues_name_what_they_need(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    queue = (Prompt("later", (DOG,)), Prompt("words"))
    await store.save_draft(ROOT, held.info.id, Draft("", queue, (CAT,)))
    assert await store.take_draft(ROOT, held.info.id) == Draft("", queue, (CLEAN,))
    assert await store.picture_digests() == {CAT.sha256, DOG.sha256}

    change(database, "UPDATE drafts SET pictures = replace(pictures, ']', ''), queue = '{' || queue")
    assert await store.take_draft(ROOT, held.info.id) == Draft("")
    assert await store.picture_digests() == {CAT.sha256, DOG.sha256}, "what can't be read is still needed"


async def test_a_draft_of_an_earlier_program_is_read(store: Store, database: Path) -> None:
    await store.save_draft(ROOT, None, Draft("text", (Prompt("one"), Prompt("two"))))
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT queue, pictures FROM drafts").fetchone() == ('["one", "two"]', "[]")
    change(database, "UPDATE drafts SET queue = '[\"one\", 2]'")
    assert await store.take_draft(ROOT, None) == Draft("text", (Prompt("one"), Prompt("2")))


async def test_a_path_asks_for_its_pictures_once_for_many_entries(database: Path) -> None:
    with metered(database) as meter:
        store = Store.open(database, program_version=VERSION)
        held = await shown(store, *[(CAT, DOG)] * 60)
        cost = await meter.cost(store.tail(held.info.id, 120))
        await store.close()

    assert sum("FROM attachments" in statement for statement in cost.statements) == 1
