"""Go back to a copy: checked before, all or nothing, and never without a copy of what was there."""

from __future__ import annotations

import fcntl
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from local_agent.config.private_files import private_folder, sync_folder
from local_agent.domain.crashpoints import reach
from local_agent.domain.errors import StoreError, UsageError
from local_agent.store.check import Holdings, damage, holdings, let_interrupt
from local_agent.store.copies import PAGES_PER_STEP, SIDE_FILES, copy, keep_bytes, keep_copy
from local_agent.store.engine import make_private_file
from local_agent.store.examine import Content, connect_readonly, examine
from local_agent.store.failures import explain
from local_agent.store.patience import Patience, error_code, is_busy
from local_agent.store.processes import ProcessIdentity
from local_agent.store.revisions import Revision, migrations_folder, pending, shipped

PURPOSE = "before-restore"
WAIT_SECONDS = 1.0
"""A command that only looks something up is done in less."""

_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)

# SQLite's own lock on a database that is in use: every connection in WAL mode keeps a shared one on it.
_LOCK_START = 0x40000002
_LOCK_LENGTH = 510

_HOLDERS = """
    SELECT s.handle, l.terminal, l.pid, l.process_start, l.machine_id, l.boot_id
    FROM leases AS l JOIN sessions AS s ON s.id = l.session_id WHERE l.token IS NOT NULL
"""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A copy that was found whole and readable by this program; open, so that it stays what it is."""

    file: Path
    holdings: Holdings
    pending: tuple[Revision, ...]
    connection: sqlite3.Connection


@contextmanager
def candidate(file: Path, database: Path, backups: Path) -> Iterator[Candidate]:
    """Check a copy; raises ``UsageError`` for no file, ``StoreError`` for one that can't be used."""
    where = f"Copies are in {backups}."
    if not file.exists():
        raise UsageError(f"There is no file {file}.", where)
    if database.exists() and file.samefile(database):
        raise UsageError(f"{file} is the database itself.", where)
    try:
        if examine(file) is Content.NOTHING:
            raise StoreError(f"{file} holds nothing.")
        connection = connect_readonly(file)
    except StoreError as error:
        raise _unusable(error.line, backups, error) from error
    with closing(connection):
        yield _checked(file, connection, backups)


def restore(chosen: Candidate, path: Path, backups: Path) -> Path | None:
    """Replace the database at ``path``; returns the copy of what was there, None when there was nothing.

    Raises ``StoreError`` while another process has it open, and when the copy can't be made.
    """
    try:
        private_folder(path.parent)
        make_private_file(path)
        if _log_alone(path) or _broken(path):
            return _replace_file(path, chosen, backups)
        return _write_into(path, chosen, backups)
    except sqlite3.Error as error:
        if is_busy(error):
            raise _in_use(path) from error
        raise explain(error) or error from error
    except OSError as error:
        raise StoreError(
            f"{path} can't be replaced: {error.strerror}.", "Nothing was changed.", str(error)
        ) from error


def _checked(file: Path, connection: sqlite3.Connection, backups: Path) -> Candidate:
    let_interrupt(connection)
    try:
        connection.execute("BEGIN")
        lines = damage(connection)
        if lines:
            raise StoreError(f"{file} is damaged: {lines[0]}.")
        todo = pending(connection, file, backups, shipped(migrations_folder()))
        return Candidate(file, holdings(connection), tuple(todo), connection)
    except sqlite3.Error as error:
        if error_code(error) == sqlite3.SQLITE_INTERRUPT:
            raise KeyboardInterrupt from error
        raise _unusable(f"{file} can't be read: {error}.", backups, error) from error
    except StoreError as error:
        raise _unusable(error.line, backups, error) from error


def _unusable(line: str, backups: Path, error: Exception) -> StoreError:
    return StoreError(line, f"Nothing was changed. Name another copy; they are in {backups}.", str(error))


def _write_into(path: Path, chosen: Candidate, backups: Path) -> Path | None:
    """One transaction of SQLite's in the file that is there: whoever waits for it finds the new content,
    and a kill leaves a log that nobody applies.
    """
    with closing(_alone(path)) as live:
        (tables,) = live.execute("SELECT count(*) FROM sqlite_master").fetchone()
        kept = keep_copy(live, path, backups, PURPOSE) if tables else None
        reach("restore:copied")
        live.execute("PRAGMA journal_mode = WAL")
        _require_same_pages(live, chosen)
        chosen.connection.backup(live, pages=PAGES_PER_STEP, progress=lambda *_: reach("restore:page"))
        reach("restore:written")
        live.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        reach("restore:in-place")
    return kept


def _alone(path: Path) -> sqlite3.Connection:
    """The only connection that anybody has; SQLite's error for a locked database when there is another."""
    live = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    try:
        for pragma in ("locking_mode = EXCLUSIVE", "synchronous = FULL"):
            live.execute(f"PRAGMA {pragma}")
        live.execute("BEGIN EXCLUSIVE")
        live.execute("COMMIT")
    except sqlite3.Error:
        live.close()
        raise
    return live


def _require_same_pages(live: sqlite3.Connection, chosen: Candidate) -> None:
    here, there = (each.execute("PRAGMA page_size").fetchone()[0] for each in (live, chosen.connection))
    if here != there:
        raise StoreError(
            f"{chosen.file} has pages of {there} bytes, the database of {here}.",
            "Nothing was changed. Move the database away, then try again.",
        )


def _replace_file(path: Path, chosen: Candidate, backups: Path) -> Path:
    """A new file in the place of one that SQLite can't read, so that nobody can be at work in it."""
    with path.open("r+b") as present:
        _lock(present, path)
        kept = keep_bytes(present, path, backups, PURPOSE)
        reach("restore:copied")
        scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
        try:
            copy(chosen.connection, scratch)
            # SQLite would apply them to whatever file has this name.
            for end in SIDE_FILES:
                path.with_name(path.name + end).unlink(missing_ok=True)
            sync_folder(path.parent)
            reach("restore:log-removed")
            scratch.replace(path)
            sync_folder(path.parent)
            reach("restore:in-place")
        finally:
            scratch.unlink(missing_ok=True)
    return kept


def _lock(present: BinaryIO, path: Path) -> None:
    """Held until ``present`` is closed."""
    try:
        fcntl.lockf(present, fcntl.LOCK_EX | fcntl.LOCK_NB, _LOCK_LENGTH, _LOCK_START)
    except BlockingIOError as error:
        raise _in_use(path) from error


def _broken(path: Path) -> bool:
    """SQLite can't open it. Asked read-only: a connection that may write deletes a log that it can't use.

    Raises ``StoreError`` for another program's database.
    """
    try:
        examine(path)
    except StoreError as error:
        if isinstance(error.__cause__, sqlite3.Error) and error_code(error.__cause__) in _BROKEN:
            return True
        raise
    return False


def _log_alone(path: Path) -> bool:
    """The log of a database that is gone; SQLite would throw it away without a word."""
    logs = (path.with_name(path.name + end) for end in SIDE_FILES)
    return path.stat().st_size == 0 and any(log.exists() and log.stat().st_size for log in logs)


def _in_use(path: Path) -> StoreError:
    holder = next(_living_holders(path), "another process")
    return StoreError(f"The database is open in {holder}.", "Close it there, then try again.")


def _living_holders(path: Path) -> Iterator[str]:
    """Those who hold a session, as far as the file can be read."""
    try:
        with closing(connect_readonly(path, Patience(seconds=WAIT_SECONDS))) as connection:
            rows = connection.execute(_HOLDERS).fetchall()
    except (StoreError, sqlite3.Error):
        return
    for handle, terminal, pid, *identity in rows:
        if pid != os.getpid() and ProcessIdentity(pid, *identity).alive():
            yield f"process {pid}{f' on {terminal}' if terminal else ''} with session {handle}"
