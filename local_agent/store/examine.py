"""Look at a file without touching it: is it a database of ours, a fresh one, or somebody else's?"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from enum import Enum, auto
from pathlib import Path
from urllib.parse import quote

from local_agent.domain.errors import StoreError

APPLICATION_ID = 0x4C6F4167
"""In the header of every database of ours."""

BUSY_SECONDS = 2.0
"""Another process may be opening or closing the database at this moment."""

_ELSEWHERE = "Move it away, or set LOCAL_AGENT_HOME to another folder."


class Content(Enum):
    """What a file holds."""

    NOTHING = auto()
    """Missing, empty, or a database without a table: free to be built."""
    OURS = auto()


def examine(path: Path) -> Content:
    """Raises ``StoreError`` for a file that is not ours, naming it; the file stays as it is.

    The bytes are read by SQLite alone: closing a descriptor of our own would drop the locks that
    another connection of this process has on the file.
    """
    try:
        if not path.exists() or path.stat().st_size == 0:
            return Content.NOTHING
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}.", _ELSEWHERE) from error
    with closing(connect_readonly(path, alone=not _has_log(path))) as connection:
        try:
            (application,) = connection.execute("PRAGMA application_id").fetchone()
            (tables,) = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except sqlite3.Error as error:
            raise unreadable(path, error) from error
    if application == APPLICATION_ID:
        return Content.OURS
    if application == 0 and tables == 0:
        return Content.NOTHING
    raise StoreError(f"{path} belongs to another program.", _ELSEWHERE)


def connect_readonly(path: Path, *, alone: bool = False) -> sqlite3.Connection:
    """A connection that can't write; ``StoreError`` when the file can't be opened.

    ``alone``: read the file by itself, without the side files of a shared database. Only for a look
    at one whose log is empty; it makes no files in a folder that may not be ours.
    """
    try:
        connection = _connect(path, "mode=ro&immutable=1" if alone else "mode=ro")
    except sqlite3.OperationalError as error:
        if alone or error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_CANTOPEN or _has_log(path):
            raise unreadable(path, error) from error
        # A folder that can't be written has no room for the side files.
        return connect_readonly(path, alone=True)
    except sqlite3.Error as error:
        raise unreadable(path, error) from error
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def unreadable(path: Path, error: sqlite3.Error) -> StoreError:
    """The sentence for a file that SQLite can't read."""
    code = error.sqlite_errorcode & 0xFF
    if code == sqlite3.SQLITE_NOTADB:
        return StoreError(f"{path} is no SQLite database.", _ELSEWHERE, str(error))
    if code == sqlite3.SQLITE_CORRUPT:
        return StoreError(
            f"{path} is damaged.", "Copy it somewhere safe, then run: local-agent doctor", str(error)
        )
    return StoreError(f"{path} can't be read.", "Make the file and its folder readable.", str(error))


def _has_log(path: Path) -> bool:
    """Something that is written stands beside the file and not yet in it."""
    beside = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal"))
    return any(each.exists() and each.stat().st_size > 0 for each in beside)
