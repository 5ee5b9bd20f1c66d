"""A locked, full or updated database is said in one line, and never keeps anybody from leaving."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy.orm import Session

from local_agent.domain.errors import NotSaved, StoreError
from local_agent.store.engine import open_engine
from local_agent.store.gateway import Gateway
from local_agent.store.revisions import newest_schema
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk


@pytest.fixture
def lock(store: Store, database: Path) -> Iterator[sqlite3.Connection]:
    """Another program holds the database's write lock until it commits."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        yield db


@pytest.fixture
async def small(store: Store, database: Path) -> AsyncIterator[Store]:
    """A store whose disk is full as soon as the file has to grow."""
    engine = open_engine(database)
    gateway = Gateway(engine, schema=newest_schema())
    pages = await gateway.read(lambda db: db.connection().exec_driver_sql("PRAGMA page_count").scalar_one())
    await gateway.write(
        lambda db: db.connection().exec_driver_sql(f"PRAGMA max_page_count = {pages}"), "session.change"
    )
    full = Store(gateway, database)
    yield full
    await full.close()


async def test_a_write_waits_for_the_lock_and_says_so(store: Store, lock: sqlite3.Connection) -> None:
    told: asyncio.Queue[bool] = asyncio.Queue()
    store.on_wait(told.put_nowait)
    writing = asyncio.create_task(store.create(new_session(), opening()))

    assert await asyncio.wait_for(told.get(), 10) is True
    assert not writing.done()
    lock.execute("COMMIT")

    held, _ = await asyncio.wait_for(writing, 10)
    assert await asyncio.wait_for(told.get(), 10) is False
    assert (await store.find(held.info.handle)).turn_count == 1


async def test_a_short_wait_is_not_worth_a_word(store: Store, lock: sqlite3.Connection) -> None:
    told: list[bool] = []
    store.on_wait(told.append)
    writing = asyncio.create_task(store.create(new_session(), opening()))
    assert (await asyncio.wait({writing}, timeout=0.3))[1] == {writing}
    lock.execute("COMMIT")

    await asyncio.wait_for(writing, 10)
    assert told == []


async def test_readers_do_not_wait_for_a_writer(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        assert len((await asyncio.wait_for(store.tail(held.info.handle, 5), 5)).entries) == 2


@pytest.mark.usefixtures("lock")
async def test_who_no_longer_waits_for_a_write_ends_it(store: Store, database: Path) -> None:
    writing = asyncio.create_task(store.create(new_session(), opening()))
    assert (await asyncio.wait({writing}, timeout=0.3))[1] == {writing}
    writing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await writing

    await asyncio.wait_for(store.close(), 3)
    with closing(sqlite3.connect(database)) as db:
        assert db.execute("SELECT count(*) FROM sessions").fetchone() == (0,)


@pytest.mark.usefixtures("lock")
async def test_a_locked_database_does_not_keep_the_program_from_leaving(store: Store) -> None:
    writing = asyncio.create_task(store.create(new_session(), opening()))
    assert (await asyncio.wait({writing}, timeout=0.2))[1] == {writing}

    started = time.monotonic()
    await store.close()
    assert time.monotonic() - started < 3
    with pytest.raises(NotSaved, match="locked by another program"):
        await writing


async def test_leaving_with_a_session_while_the_database_is_locked(store: Store, database: Path) -> None:
    held = await talk(store, "one")
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        await store.close()
        assert time.monotonic() - started < 4

    again = Store.open(database, program_version=VERSION)
    assert (await again.hold(held.info.handle)).interrupted is None
    await again.close()


async def test_a_full_disk_loses_nothing_that_was_stored(small: Store, store: Store, database: Path) -> None:
    with pytest.raises(NotSaved, match="The disk is full"):
        await small.create(new_session(), opening("x" * 2_000_000))

    assert await store.page(ROOT) == []
    assert os.listdir(database.parent / "locks") == []
    held = await talk(store, "there is room here")
    assert len((await small.tail(held.info.handle, 5)).entries) == 2


async def test_a_turn_that_could_not_be_settled_is_settled_by_trying_again(
    small: Store, store: Store
) -> None:
    held, turn = await small.create(new_session(), opening())
    with pytest.raises(NotSaved):
        await held.settle(turn, settled("x" * 2_000_000))
    entry = await held.settle(turn, settled("short"))

    assert entry is not None
    assert (await store.tail(held.info.handle, 5)).entries[-1] == entry


async def test_after_an_update_by_a_newer_program_this_one_writes_no_more(
    store: Store, database: Path
) -> None:
    held = await talk(store, "one")
    with closing(sqlite3.connect(database)) as db:
        db.execute("INSERT INTO schema_migrations VALUES ('0006', '0006_x.py', 'x', '2027', '0.9.0')")
        db.execute("PRAGMA user_version = 6")
        db.commit()

    with pytest.raises(NotSaved, match=r"updated by local-agent 0\.9\.0") as refusal:
        await held.begin(opening("two", held.info.head))
    assert "resume" in refusal.value.hint
    assert len((await store.tail(held.info.handle, 5)).entries) == 2


async def test_a_read_can_be_cut(gateway: Gateway) -> None:
    forever = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    started = threading.Event()

    def work(db: Session) -> object:
        connection = db.connection()
        started.set()
        return connection.exec_driver_sql(forever).scalar()

    reading = asyncio.create_task(gateway.read(work))
    assert await asyncio.to_thread(started.wait, 10)
    while not reading.done():
        gateway.interrupt_reads()
        await asyncio.wait({reading}, timeout=0.05)

    with pytest.raises(StoreError, match="Reading was stopped"):
        await reading
    assert await gateway.read(lambda db: db.connection().exec_driver_sql("SELECT 1").scalar()) == 1


async def test_the_reader_cannot_write(gateway: Gateway) -> None:
    with pytest.raises(NotSaved, match="read-only"):
        await gateway.read(lambda db: db.connection().exec_driver_sql("DELETE FROM drafts"))


async def test_a_unit_that_fails_writes_nothing(gateway: Gateway, store: Store) -> None:
    await talk(store, "one")

    def work(db: Session) -> None:
        db.connection().exec_driver_sql("UPDATE sessions SET title = 'half done'")
        raise KeyError("a fault of the program")

    with pytest.raises(KeyError, match="a fault"):
        await gateway.write(work, "session.change")
    assert [info.title for info in await store.page(ROOT)] == ["Polish the page"]


async def test_a_closed_store_says_so(database: Path) -> None:
    store = Store.open(database, program_version=VERSION)
    await store.close()
    await store.close()
    with pytest.raises(StoreError, match="closed"):
        await store.page(ROOT)


async def test_a_write_that_was_given_up_does_not_come_true_when_the_lock_is_free(
    store: Store, database: Path, lock: sqlite3.Connection
) -> None:
    for _ in range(5):
        writing = asyncio.create_task(store.create(new_session(), opening()))
        assert (await asyncio.wait({writing}, timeout=0.15))[1] == {writing}
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing
        lock.execute("COMMIT")  # the write is in the middle of its wait for this
        await store.page(None)
        lock.execute("BEGIN IMMEDIATE")
    assert await store.page(None) == []
