"""Look at a file without touching it: is it a database of ours, a fresh one, or somebody else's?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.request import pathname2url

from local_agent.domain.errors import StoreError

APPLICATION_ID = 0x4C6F4167
"""In the header of every database of ours."""

_MAGIC = b"SQLite format 3\x00"
_ELSEWHERE = "Move it away, or set LOCAL_AGENT_HOME to another folder."


@dataclass(frozen=True, slots=True)
class Examined:
    """``fresh``: missing, empty, or without a table; nothing of anybody's is in it."""

    fresh: bool
    schema: int = 0


def examine(path: Path) -> Examined:
    """Raises ``StoreError`` for a file that is not ours, naming it; the file stays as it is."""
    try:
        if not path.exists() or path.stat().st_size == 0:
            return Examined(fresh=True)
        with path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}.", _ELSEWHERE) from error
    if magic != _MAGIC:
        raise StoreError(f"{path} is no SQLite database.", _ELSEWHERE)
    with closing(connect_readonly(path)) as connection:
        return _examine(path, connection)


def _examine(path: Path, connection: sqlite3.Connection) -> Examined:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (schema,) = connection.execute("PRAGMA user_version").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    if application == APPLICATION_ID:
        return Examined(fresh=False, schema=schema)
    if application == 0 and tables == 0:
        return Examined(fresh=True)
    raise StoreError(f"{path} belongs to another program.", _ELSEWHERE)


def connect_readonly(path: Path) -> sqlite3.Connection:
    """A connection that can't write; ``StoreError`` when the file can't be opened."""
    uri = f"file:{pathname2url(str(path))}"
    try:
        connection = sqlite3.connect(f"{uri}?mode=ro", uri=True, timeout=0.1, isolation_level=None)
        try:
            connection.execute("PRAGMA schema_version").fetchone()
        except sqlite3.OperationalError as error:
            connection.close()
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN or _has_log(path):
                raise
            # A folder that can't be written has no room for the side files of a shared database;
            # with nothing in the log, the file alone is all there is.
            connection = sqlite3.connect(f"{uri}?mode=ro&immutable=1", uri=True, isolation_level=None)
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    return connection


def unreadable(path: Path, error: sqlite3.Error) -> StoreError:
    """The sentence for a file that SQLite can't read."""
    if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(
            f"{path} is damaged.", "Copy it somewhere safe, then run: local-agent doctor", str(error)
        )
    return StoreError(f"{path} can't be read.", "Make the file and its folder readable.", str(error))


def _has_log(path: Path) -> bool:
    log = path.with_name(f"{path.name}-wal")
    return log.exists() and log.stat().st_size > 0
