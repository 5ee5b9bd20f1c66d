"""A session is deleted for good; what others stand on becomes theirs, word for word."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.errors import SessionHeld, StoreError, UnknownSession
from local_agent.store.check import check
from local_agent.store.purge import wipe
from local_agent.store.store import Store
from tests.store.other_process import OtherProcess
from tests.store.samples import failed, fill, new_session, opening, run_call, settled, talk, wanting


async def purged(store: Store, handle: str) -> None:
    await store.trash(handle)
    await store.purge(handle)


def dump(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All rows of all tables of ours but what tells one start from another, and the triggers."""
    with closing(sqlite3.connect(path)) as db:
        names = [
            name
            for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
            if not name.startswith(("entry_term", "sqlite_sequence"))
        ]
        rows = {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names}
        rows["triggers"] = db.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
        ).fetchall()
    return rows


def but_leases(rows: dict[str, list[tuple[object, ...]]]) -> dict[str, list[tuple[object, ...]]]:
    return {name: found for name, found in rows.items() if name != "leases"}


async def test_nothing_of_a_lone_session_is_left(store: Store, database: Path) -> None:
    other = await talk(store, "Kept question")
    await other.release()
    before = dump(database)
    held, turn, calls = await wanting(store, "Plantedword title")
    await run_call(held, calls[0], "plantedword output")
    await held.settle(turn, failed("plantedword went wrong"))
    await held.release()

    await purged(store, held.info.handle)

    assert dump(database) == before
    assert check(database, database.parent / "backups").problems == []
    with pytest.raises(UnknownSession):
        await store.find(held.info.handle)
    await store.close()
    assert wipe(database)
    left = [path for path in database.parent.rglob("*") if path.is_file()]
    assert not [path for path in left if b"plantedword" in path.read_bytes().lower()]


async def test_forks_keep_what_they_stand_on(store: Store, database: Path) -> None:
    parent, turn, calls = await wanting(store, "Parent")
    await run_call(parent, calls[0], "shared output")
    await parent.settle(turn, settled("shared answer"))
    first = await store.fork(parent.info.handle, "First")
    turn = await parent.begin(opening("more", parent.info.head))
    await parent.settle(turn, settled("more is said"))
    second = await store.fork(parent.info.handle, "Second")
    below = await store.fork(second.handle, "Below")
    turn = await parent.begin(opening("plantedword", parent.info.head))
    await parent.settle(turn, settled("on plantedword"))
    await parent.release()
    before = {each.handle: await store.tail(each.handle, 100) for each in (first, second, below)}

    await purged(store, parent.info.handle)

    for handle, said in before.items():
        now = await store.tail(handle, 100)
        assert [(e.id, e.text, e.kind, e.calls) for e in now.entries] == [
            (e.id, e.text, e.kind, e.calls) for e in said.entries
        ]
        assert now.turns.keys() == said.turns.keys()
        assert [(place, each.id, each.state, each.receipt) for place, each in now.executions.items()] == [
            (place, each.id, each.state, each.receipt) for place, each in said.executions.items()
        ]
    assert (await store.find(first.handle)).parent_session is None
    assert (await store.find(second.handle)).forked_from == first.handle
    assert check(database, database.parent / "backups").problems == []

    await purged(store, first.handle)
    await purged(store, second.handle)
    last = await store.tail(below.handle, 100)
    assert [entry.text for entry in last.entries] == [e.text for e in before[below.handle].entries]
    assert [each.session_id for each in (await store.search("shared", None)).passages] == [below.id]
    held = await store.hold(below.handle)
    turn = await held.begin(opening("and on", held.info.head))
    await held.settle(turn, settled("it goes"))
    await held.release()
    assert check(database, database.parent / "backups").problems == []


async def test_only_what_lies_in_the_trash_goes(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    await held.release()
    before = dump(database)
    with pytest.raises(StoreError, match="not in the trash") as refused:
        await store.purge(held.info.handle)
    assert refused.value.hint.endswith(f"local-agent session trash {held.info.handle}")
    assert but_leases(dump(database)) == but_leases(before)


async def test_a_session_that_is_open_elsewhere_stays(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    await held.release()
    await store.trash(held.info.handle)
    with OtherProcess(database) as other:
        other.tell("hold", held.info.handle)
        with pytest.raises(SessionHeld):
            await store.purge(held.info.handle)
    assert [e.text for e in (await store.tail(held.info.handle, 9)).entries] == ["one", "On one"]


async def test_a_row_that_others_need_keeps_the_whole_session(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    other = await talk(store, "two")
    await held.release()
    await other.release()
    await store.trash(held.info.handle)
    with closing(sqlite3.connect(database)) as db:
        turn = "SELECT min(id) FROM turns WHERE session_id = ?"
        db.execute(
            "INSERT INTO head_moves (session_id, number, cause, created_at, turn_id)"
            f" VALUES (?, 99, 'turn', '', ({turn}))",
            (other.info.id, held.info.id),
        )
        db.commit()
    before = dump(database)
    with pytest.raises(StoreError, match="other rows need it"):
        await store.purge(held.info.handle)
    assert but_leases(dump(database)) == but_leases(before)


async def test_numbers_are_never_given_again(store: Store) -> None:
    held = await talk(store, "one")
    await held.release()
    await purged(store, held.info.handle)
    fresh, turn = await store.create(new_session(), opening("two"))
    assert fresh.info.id > held.info.id
    assert turn.question.id > (held.info.head or 0)


async def test_an_index_that_lacks_entries_is_made_anew(store: Store, database: Path) -> None:
    kept = await talk(store, "evergreen")
    held = await talk(store, "one")
    fill(database, held.info.id, 20)
    for each in (kept, held):
        await each.release()
    await purged(store, held.info.handle)
    (found,) = (await store.search("evergreen", None)).passages
    assert found.session_id == kept.info.id
    assert check(database, database.parent / "backups").problems == []
