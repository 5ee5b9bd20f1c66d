"""Everything that can be found out about a database file, whatever state it is in; it stays as it is."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import create_engine
from sqlalchemy.orm import Session
from sqlalchemy.pool import StaticPool

from local_agent.domain.entries import Kind
from local_agent.domain.errors import StoreError
from local_agent.store import entries, executions
from local_agent.store.batches import BATCH
from local_agent.store.copies import SIDE_FILES, newest_copy, way_back
from local_agent.store.entries import Node
from local_agent.store.examine import Content, connect_readonly, examine
from local_agent.store.failures import DATABASE_ERRORS, is_damage
from local_agent.store.migrate import schema_built, schema_of
from local_agent.store.patience import error_code
from local_agent.store.revisions import Revision, migrations_folder, newest_schema, pending, shipped

MAX_FINDINGS = 20
STEPS_BETWEEN_LOOKS = 100_000


@dataclass(frozen=True, slots=True)
class Holdings:
    """How much a database holds; ``newest`` is the time of the last activity, UTC."""

    sessions: int
    entries: int
    turns: int
    newest: str | None


@dataclass(slots=True)
class Finding:
    """What a check found. ``problems`` are whole sentences; sizes are bytes; None: not known."""

    path: str
    exists: bool = False
    size: int | None = None
    journal: str | None = None
    revision: str | None = None
    pending: tuple[str, ...] = ()
    holdings: Holdings | None = None
    unreadable: dict[str, int] = field(default_factory=dict)
    """How many messages of which session, by its handle."""
    last_backup: str | None = None
    problems: list[str] = field(default_factory=list)
    way_out: str = ""


def check(path: Path, backups: Path, migrations: Path | None = None) -> Finding:
    """Look at everything once, in one read transaction; raises nothing but ``KeyboardInterrupt``.

    ``migrations``: a folder of others than our own.
    """
    folder = migrations or migrations_folder()
    found = Finding(str(path))
    newest = newest_copy(backups)
    found.last_backup = newest.name if newest is not None else None
    back = way_back(backups, newest_schema(folder))
    try:
        found.exists = path.exists()
        if examine(path) is Content.NOTHING:
            return found
        found.size = _size(path)
        with closing(connect_readonly(path)) as database:
            _Look(database, path, backups, folder, found).all()
    except StoreError as error:
        found.problems.append(error.line)
        back = back if isinstance(error.__cause__, sqlite3.Error) else error.hint
    except OSError as error:
        found.problems.append(f"{path} can't be read: {error.strerror}.")
    found.way_out = back if found.problems else ""
    return found


def holdings(database: sqlite3.Connection) -> Holdings:
    """Counted on indexes, which a damaged page of texts does not touch."""
    tables = ("sessions", "entries", "turns")
    counted = (database.execute(f"SELECT count(*) FROM {table}").fetchone() for table in tables)
    sessions, stored, turns = (int(row[0]) for row in counted)
    (newest,) = database.execute("SELECT max(last_activity) FROM sessions").fetchone()
    return Holdings(sessions, stored, turns, newest)


def look_at_holdings(path: Path) -> Holdings | None:
    """None for a database that is not there or can't be counted."""
    try:
        if examine(path) is Content.NOTHING:
            return None
        with closing(connect_readonly(path)) as database:
            return holdings(database)
    except (StoreError, sqlite3.Error):
        return None


def let_interrupt(database: sqlite3.Connection) -> None:
    """Give Python a chance to see Ctrl+C during a long statement, which then ends with an error."""
    database.set_progress_handler(lambda: 0, STEPS_BETWEEN_LOOKS)


def damage(database: sqlite3.Connection) -> list[str]:
    """What SQLite finds wrong with pages and indexes, a few at most; empty when all is well."""
    rows: list[str] = []
    try:
        rows.extend(str(row[0]) for row in database.execute(f"PRAGMA integrity_check({MAX_FINDINGS})"))
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        rows = rows or [str(error)]
    lines = [line for row in rows for line in row.splitlines() if not line.startswith("***")]
    return [] if lines == ["ok"] else lines


class _Look:
    """One check; each part goes as far as the file lets it."""

    def __init__(
        self, database: sqlite3.Connection, path: Path, backups: Path, folder: Path, found: Finding
    ) -> None:
        self._database = database
        self._path = path
        self._backups = backups
        self._folder = folder
        self._found = found

    def all(self) -> None:
        let_interrupt(self._database)
        self._database.execute("BEGIN")
        for what, part in (
            ("The pages", self._pages),
            ("References", self._references),
            ("The tables", self._tables),
            ("The number of sessions", self._holdings),
            ("Messages", self._messages),
            ("The ledger", self._ledger),
        ):
            try:
                part()
            except DATABASE_ERRORS as error:
                if error_code(error) == sqlite3.SQLITE_INTERRUPT:
                    raise KeyboardInterrupt from error
                raw = getattr(error, "orig", error)
                self._found.problems.append(f"{what} can't be read to the end: {raw}.")

    def _pages(self) -> None:
        (self._found.journal,) = self._database.execute("PRAGMA journal_mode").fetchone()
        lines = damage(self._database)
        if lines:
            more = "" if len(lines) == 1 else f" (and {len(lines) - 1} more)"
            self._found.problems.append(f"The file is damaged: {lines[0]}{more}.")

    def _references(self) -> None:
        with closing(self._database.execute("PRAGMA foreign_key_check")) as found:
            rows = found.fetchmany(MAX_FINDINGS)
        for (table, parent), count in Counter((row[0], row[2]) for row in rows).items():
            self._found.problems.append(f"{count} rows of {table} point at rows of {parent} that are gone.")

    def _tables(self) -> None:
        revisions = shipped(self._folder)
        newest = "SELECT max(revision) FROM schema_migrations"
        try:
            todo = pending(self._database, self._path, self._backups, revisions)
            (self._found.revision,) = self._database.execute(newest).fetchone()
        except StoreError as error:
            self._found.problems.append(error.line)
            return
        self._found.pending = tuple(each.file_name for each in todo)
        self._compare(revisions[: len(revisions) - len(todo)])

    def _compare(self, applied: list[Revision]) -> None:
        expected, there = schema_built(applied[-1].revision, self._folder), schema_of(self._database)
        for verb, parts in (("is missing", expected - there), ("was added or changed", there - expected)):
            for kind, name, *_ in sorted(part[:2] for part in parts):
                self._found.problems.append(f"The {kind} {name} {verb}.")

    def _holdings(self) -> None:
        self._found.holdings = holdings(self._database)

    def _messages(self) -> None:
        unreadable: Counter[int] = Counter()
        with self._read() as db:
            for batch in self._batches():
                read = entries.read(db, [Node(key, None, Kind.MARKER, None) for key, _ in batch])
                unreadable.update(
                    session for (_, session), entry in zip(batch, read, strict=True) if not entry.readable
                )
            for session, count in unreadable.items():
                handle = self._handle(session)
                self._found.unreadable[handle] = count
                what = "1 message" if count == 1 else f"{count} messages"
                self._found.problems.append(f"{what} of session {handle} can't be read.")

    def _ledger(self) -> None:
        """Calls with events, digests or findings that the program can't have written."""
        if self._database.execute("SELECT 1 FROM sqlite_master WHERE name = 'executions'").fetchone() is None:
            return
        writers = "SELECT DISTINCT session_id FROM executions"
        with self._read() as db:
            for (session,) in self._database.execute(writers).fetchall():
                count = sum(not each.readable for each in executions.of_session(db, session))
                if count:
                    what = "1 call" if count == 1 else f"{count} calls"
                    handle = self._handle(session)
                    self._found.problems.append(
                        f"What the ledger says of {what} of session {handle} was altered."
                    )

    @contextmanager
    def _read(self) -> Iterator[Session]:
        engine = create_engine("sqlite://", creator=lambda: self._database, poolclass=StaticPool)
        with Session(engine) as db:
            db.connection()  # it prepares itself, which can't be done while a statement runs
            yield db

    def _batches(self) -> Iterator[list[tuple[int, int]]]:
        """Ids of entries and of their sessions, off an index."""
        query = "SELECT id, session_id FROM entries INDEXED BY entries_of_session ORDER BY session_id"
        cursor = self._database.execute(query)
        while batch := cursor.fetchmany(BATCH):
            yield batch

    def _handle(self, session: int) -> str:
        row = self._database.execute("SELECT handle FROM sessions WHERE id = ?", (session,)).fetchone()
        return str(row[0]) if row is not None else f"number {session}"


def _size(path: Path) -> int:
    files = (path, *(path.with_name(path.name + end) for end in SIDE_FILES if end != "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
