"""The way to the database: a writer and a reader, each one thread with one connection."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Generic, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from local_agent.domain.crashpoints import CommitName, reach
from local_agent.domain.errors import Damaged, Outdated, StoreError
from local_agent.store.engine import driver_of
from local_agent.store.failures import DATABASE_ERRORS, explain, is_index_damage
from local_agent.store.patience import is_busy
from local_agent.store.word_index import rebuild

T = TypeVar("T")

NOTICE_SECONDS = 1.0
PATIENCE_SECONDS = 10.0
CLOSE_SECONDS = 1.0


class Gateway:
    """Runs units of work off the event loop, each in one transaction.

    A unit may run more than once (the database was locked), so it does nothing but talk to it.
    ``on_wait`` is called on the event loop with True once a unit has waited for a second, and with
    False when the wait is over.
    """

    def __init__(self, engine: Engine, schema: int, *, in_memory: bool = False) -> None:
        self._engine = engine
        self._schema = schema
        self._writer = _Lane(engine, "store-writer", query_only=False)
        # A database in memory lives on one connection, so both kinds of work share one thread.
        self._reader = self._writer if in_memory else _Lane(engine, "store-reader", query_only=True)
        self.on_wait: Callable[[bool], None] | None = None
        self._hurried_until = math.inf

    def hurry(self, seconds: float | None) -> None:
        """Let no unit wait for a lock beyond ``seconds`` from now; None lets them take their time again."""
        if seconds is None:
            self._hurried_until = math.inf
        else:
            self._hurried_until = min(self._hurried_until, time.monotonic() + seconds)

    async def write(self, work: Callable[[Session], T], name: CommitName) -> T:
        """Run ``work`` in BEGIN IMMEDIATE and commit; ``name`` names its crash points.

        Raises ``NotSaved`` when the transaction can't be written, and what ``work`` raises.
        """

        def unit(db: Session) -> T:
            self._require_schema(db)
            result = work(db)
            db.flush()
            reach(f"{name}:before-commit")
            return result

        result = await self._run(self._writer, unit, writes=True)
        reach(f"{name}:after-commit")
        return result

    async def read(self, work: Callable[[Session], T]) -> T:
        """Run ``work`` on one consistent view of the database; ``StoreError`` when it can't be read."""
        try:
            return await self._run(self._reader, work, writes=False)
        except Damaged as error:
            if not is_index_damage(error.__cause__):
                raise
            await self._run(self._writer, lambda db: rebuild(db.connection()), writes=True)
            return await self._run(self._reader, work, writes=False)

    def interrupt_reads(self) -> None:
        """Cut what the reader is doing; its caller gets a ``StoreError``."""
        self._reader.interrupt()

    async def close(self) -> None:
        """Cut reads, give writes a second, close both connections."""
        lanes = [self._reader] if self._reader is self._writer else [self._reader, self._writer]
        if self._reader is not self._writer:
            self._reader.interrupt()
        for lane in lanes:
            await lane.close()
        self._engine.dispose()

    async def _run(self, lane: _Lane, work: Callable[[Session], T], *, writes: bool) -> T:
        loop = asyncio.get_running_loop()
        return await lane.run(_Attempt(work, writes, loop, self.on_wait, lambda: self._hurried_until))

    def _require_schema(self, db: Session) -> None:
        connection = db.connection()
        found = connection.exec_driver_sql("PRAGMA user_version").scalar_one()
        if found == self._schema:
            return
        if found < self._schema:
            raise Outdated(
                "The database was replaced by an older copy; this one writes no more.",
                "Quit, then start again.",
            )
        newest = "SELECT program_version FROM schema_migrations ORDER BY revision DESC LIMIT 1"
        version = connection.exec_driver_sql(newest).scalar()
        raise Outdated(
            f"The database was updated by local-agent {version}; this one writes no more.",
            "Quit, then resume the session.",
        )


class _Lane:
    """One thread and its one connection, opened at the first use."""

    def __init__(self, engine: Engine, name: str, *, query_only: bool) -> None:
        self._engine = engine
        self._query_only = query_only
        self._pool = ThreadPoolExecutor(1, thread_name_prefix=name)
        self._connection: Connection | None = None
        self._closing = threading.Event()

    async def run(self, attempt: _Attempt[T]) -> T:
        if self._closing.is_set():
            raise StoreError("The database is closed.")
        future = self._pool.submit(self._repeat, attempt)
        try:
            return await asyncio.wrap_future(future)
        except asyncio.CancelledError:
            attempt.cancelled.set()
            raise

    def interrupt(self) -> None:
        connection = self._connection
        if connection is not None and not connection.closed:
            driver_of(connection).interrupt()

    async def close(self) -> None:
        if self._closing.is_set():
            return
        self._closing.set()
        done = asyncio.wrap_future(self._pool.submit(self._disconnect))
        await asyncio.wait([done], timeout=CLOSE_SECONDS)
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _repeat(self, attempt: _Attempt[T]) -> T:
        """Try until the lock is ours, patience ends, or nobody waits for the answer any more."""
        try:
            while True:
                try:
                    return self._once(attempt)
                except (DBAPIError, sqlite3.Error) as error:
                    if is_busy(error) and not self._closing.is_set() and attempt.may_wait():
                        continue
                    self._begin_anew()
                    if attempt.may_mend(error) and self._mended():
                        continue
                    explained = explain(error)
                    if explained is None:
                        raise
                    raise explained from error
        finally:
            attempt.finish()

    def _once(self, attempt: _Attempt[T]) -> T:
        connection = self._connect().execution_options(writes=attempt.writes)
        with Session(connection, autoflush=False, expire_on_commit=False) as db:
            result = attempt.work(db)
            # What nobody waits for any more must not come true behind their back.
            if attempt.writes and not attempt.cancelled.is_set():
                db.commit()
            # A read is rolled back: after a damaged page SQLite refuses even to commit nothing.
            return result

    def _mended(self) -> bool:
        """Make the index of words anew: nothing that was said is lost because it can't be found."""
        connection = self._connect().execution_options(writes=True)
        try:
            rebuild(connection)
            connection.commit()
        except DATABASE_ERRORS:
            self._begin_anew()
            return False
        return True

    def _connect(self) -> Connection:
        if self._connection is None or self._connection.closed:
            connection = self._engine.connect()
            if self._query_only:
                driver_of(connection).execute("PRAGMA query_only = ON")
            self._connection = connection
        return self._connection

    def _begin_anew(self) -> None:
        """Take another connection: SQLite ends some transactions by itself, and this one may not know."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(DBAPIError):
                connection.close()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()


class _Attempt(Generic[T]):
    """One unit of work on its way: how long it has waited, and whether somebody still wants it."""

    def __init__(
        self,
        work: Callable[[Session], T],
        writes: bool,
        loop: asyncio.AbstractEventLoop,
        on_wait: Callable[[bool], None] | None,
        hurried_until: Callable[[], float],
    ) -> None:
        self.work = work
        self.writes = writes
        self.cancelled = threading.Event()
        self._loop = loop
        self._on_wait = on_wait
        self._hurried_until = hurried_until
        self._started = time.monotonic()
        self._told = False
        self._mended = False

    def may_wait(self) -> bool:
        now = time.monotonic()
        waited = now - self._started
        if waited > NOTICE_SECONDS and not self._told:
            self._told = True
            self._tell(True)
        patient = waited < PATIENCE_SECONDS and now < self._hurried_until()
        return patient and not self.cancelled.is_set()

    def may_mend(self, error: BaseException) -> bool:
        """Whether it may be tried once more after the index of words was made anew."""
        may, self._mended = self.writes and not self._mended and is_index_damage(error), True
        return may

    def finish(self) -> None:
        if self._told:
            self._tell(False)

    def _tell(self, waiting: bool) -> None:
        if self._on_wait is not None:
            with suppress(RuntimeError):  # the loop was closed while we waited
                self._loop.call_soon_threadsafe(self._on_wait, waiting)
