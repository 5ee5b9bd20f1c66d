"""Look at a file without touching it: is it a database of ours, a fresh one, or somebody else's?"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from enum import Enum, auto
from pathlib import Path
from urllib.request import pathname2url

from local_agent.domain.errors import StoreError

APPLICATION_ID = 0x4C6F4167
"""In the header of every database of ours."""

_MAGIC = b"SQLite format 3\x00"
_HEADER_BYTES = 100
_APPLICATION_AT = 68
_ELSEWHERE = "Move it away, or set LOCAL_AGENT_HOME to another folder."


class Content(Enum):
    """What a file holds."""

    NOTHING = auto()
    """Missing, empty, or a database without a table: free to be built."""
    OURS = auto()


def examine(path: Path) -> Content:
    """Raises ``StoreError`` for a file that is not ours, naming it; the file stays as it is."""
    try:
        if not path.exists() or path.stat().st_size == 0:
            return Content.NOTHING
        with path.open("rb") as file:
            header = file.read(_HEADER_BYTES)
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}.", _ELSEWHERE) from error
    if not header.startswith(_MAGIC):
        raise StoreError(f"{path} is no SQLite database.", _ELSEWHERE)
    application = int.from_bytes(header[_APPLICATION_AT : _APPLICATION_AT + 4], "big")
    tables = 0
    if application == 0:
        # Nothing was written yet, or what was written is still in the log.
        with closing(connect_readonly(path)) as connection:
            application, tables = _look(path, connection)
    if application == APPLICATION_ID:
        return Content.OURS
    if application == 0 and tables == 0:
        return Content.NOTHING
    raise StoreError(f"{path} belongs to another program.", _ELSEWHERE)


def _look(path: Path, connection: sqlite3.Connection) -> tuple[int, int]:
    try:
        (application,) = connection.execute("PRAGMA application_id").fetchone()
        (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    return application, tables


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
