"""A database whose disk fails at a chosen write: SQLite's own errors, on the program's own connections."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import event
from sqlalchemy.orm import Session

from local_agent import __version__
from local_agent.config.launch import LaunchOptions
from local_agent.domain.crashpoints import CommitName
from local_agent.domain.errors import StoreError
from local_agent.runtime.engines import Engines
from local_agent.runtime.hands import Workshop
from local_agent.runtime.runtime import Runtime
from local_agent.store.engine import open_engine
from local_agent.store.gateway import Gateway
from local_agent.store.store import Store
from tests.runtime.opened import paths_in, settings_for

T = TypeVar("T")

UNLIMITED = 1 << 30


class FaultyDisk(Gateway):
    """Counts writes, and begins a fault right before one of them."""

    def __init__(self, path: Path) -> None:
        self.names: list[str] = []
        """Every write that was tried, in order."""
        self.fault: Callable[[FaultyDisk], None] | None = None
        self.failed = 0
        self.first = self.last = 0
        """The fault lasts from the ``first`` write to the ``last``, counted from 1."""
        self._path = path
        self._connections: list[sqlite3.Connection] = []
        self._pragmas: tuple[str, ...] = ()
        with closing(sqlite3.connect(path)) as db:
            (schema,) = db.execute("PRAGMA user_version").fetchone()
        engine = open_engine(path)
        event.listen(engine, "connect", self._connected)
        event.listen(engine, "close", lambda connection, _: self._connections.remove(connection))
        super().__init__(engine, schema)

    async def write(self, work: Callable[[Session], T], name: CommitName) -> T:
        self.names.append(name)
        number = len(self.names)
        if number == self.first and self.fault is not None:
            self.fault(self)
        if number == self.last + 1:
            self.mend()
        try:
            return await super().write(work, name)
        except StoreError:
            self.failed += 1
            raise

    def fill(self) -> None:
        """SQLITE_FULL for whatever makes the database grow."""
        with closing(sqlite3.connect(self._path)) as db:
            (pages,) = db.execute("PRAGMA page_count").fetchone()
        self._say(f"max_page_count = {pages}")

    def protect(self) -> None:
        """SQLITE_READONLY for every write."""
        self._say("query_only = ON")

    def mend(self) -> None:
        """The disk is as it was."""
        self._say(f"max_page_count = {UNLIMITED}", "query_only = OFF")

    def _say(self, *pragmas: str) -> None:
        self._pragmas = pragmas
        for connection in self._connections:
            self._tell(connection)

    def _connected(self, connection: sqlite3.Connection, _record: object) -> None:
        self._connections.append(connection)
        self._tell(connection)

    def _tell(self, connection: sqlite3.Connection) -> None:
        for pragma in self._pragmas:
            connection.execute(f"PRAGMA {pragma}")


@dataclass
class Bench:
    """A runtime on a disk that fails."""

    runtime: Runtime
    disk: FaultyDisk


@asynccontextmanager
async def failing(home: Path, url: str) -> AsyncIterator[Bench]:
    """The runtime as a process has it, on a database that is built if it is not there."""
    paths = paths_in(home)
    if not paths.database.exists():
        built = await asyncio.to_thread(Store.open, paths.database, program_version=__version__)
        await built.close()
    workspace = home.parent / "work"
    await asyncio.to_thread(workspace.mkdir, exist_ok=True)
    settings = settings_for(url)
    disk = FaultyDisk(paths.database)
    store = Store(disk, paths.database)
    options = LaunchOptions(workspace=workspace)
    workshop = Workshop(options, settings, paths)
    runtime = Runtime(options, settings, paths, store, Engines(settings, paths), workshop)
    try:
        yield Bench(runtime, disk)
    finally:
        await runtime.close()


def stored(database: Path) -> dict[str, list[Any]]:
    """What a database says of its conversations, without ids and times: equal for equal conversations."""
    with closing(sqlite3.connect(database)) as db:
        order = {key: place for place, (key,) in enumerate(db.execute("SELECT id FROM entries ORDER BY id"))}
        columns = "parent, kind, origin, status, text, context, thinking"
        entries = db.execute(f"SELECT {columns} FROM entries ORDER BY id")
        moves = db.execute(
            "SELECT number, from_entry, to_entry, cause FROM head_moves ORDER BY session_id, number"
        )
        sessions = db.execute("SELECT head, title, turn_count, model FROM sessions ORDER BY id")
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {
            "entries": [(order.get(parent), *rest) for parent, *rest in entries],
            "moves": [(n, order.get(a), order.get(b), why) for n, a, b, why in moves],
            "sessions": [(order.get(head), *rest) for head, *rest in sessions],
            "turns": db.execute("SELECT status, stop_reason, reply_tokens FROM turns ORDER BY id").fetchall(),
            "errors": db.execute("SELECT line FROM error_records ORDER BY id").fetchall(),
            "open": db.execute("SELECT text FROM open_replies").fetchall(),
        }
