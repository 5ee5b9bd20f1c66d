"""Look at a file without touching it: is it a database of ours, a fresh one, or somebody else's?"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from enum import Enum, auto
from pathlib import Path
from urllib.parse import quote

from local_agent.domain.errors import Damaged, NotSaved, OnlyReadable, StoreError
from local_agent.store.patience import BUSY_SECONDS, Patience, error_code, is_busy

APPLICATION_ID = 0x4C6F4167
"""In the header of every database of ours."""

SIDE_FILES = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database while it is open, or after a process died with it."""

MAX_PATH_BYTES = 512 - 100
"""SQLite takes names of 512 bytes; side files and copies need room for theirs, which are longer."""

LOCKED = ("The database is locked by another program.", "Close what holds it, then try again.")
CHECK_IT = "See what is left of it, and which copy to go back to, with: local-agent db check"

_ELSEWHERE = "Move it away, or set LOCAL_AGENT_HOME to another folder."
_NOT_OPENED = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_PERM)


class Content(Enum):
    """What a file holds."""

    NOTHING = auto()
    """Missing, empty, or a database without a table: free to be built."""
    OURS = auto()


def examine(path: Path, patience: Patience | None = None) -> Content:
    """Raises ``StoreError`` for a file that is not ours, naming it; the file stays as it is.

    The bytes are read by SQLite alone: closing a descriptor of our own would drop the locks that
    another connection of this process has on the file.
    """
    _require_short(path)
    try:
        if path.exists() and not path.is_file():
            raise StoreError(f"{path} can't be used: it is no file.", _ELSEWHERE)
        if not path.exists() or path.stat().st_size == 0:
            return Content.NOTHING
    except OSError as error:
        raise StoreError(f"{path} can't be read: {error.strerror}.", _ELSEWHERE) from error
    patience = patience or Patience()
    with closing(connect_readonly(path, patience, alone=not has_log(path))) as connection:
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


def connect_readonly(
    path: Path, patience: Patience | None = None, *, alone: bool = False
) -> sqlite3.Connection:
    """A connection that can't write; ``StoreError`` when the file can't be opened.

    ``alone``: read the file by itself, without the side files of a shared database. Only for a look
    at one whose log is empty; it makes no files in a folder that may not be ours.
    """
    patience = patience or Patience()
    try:
        return patience.until_free(lambda: _connect(path, "mode=ro&immutable=1" if alone else "mode=ro"))
    except sqlite3.Error as error:
        if alone or error_code(error) not in _NOT_OPENED or has_log(path):
            raise unreadable(path, error) from error
        # A folder that can't be written has no room for the side files.
        return connect_readonly(path, patience, alone=True)


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"file:{quote(os.fsencode(path))}?{mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    connection.text_factory = lenient_text
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def lenient_text(data: bytes) -> str:
    """What is no UTF-8 costs its own characters; the driver's way would be to refuse the row."""
    return data.decode("utf-8", "replace")


def unreadable(path: Path, error: sqlite3.Error) -> StoreError:
    """The sentence for a file that SQLite can't read."""
    code, raw = error_code(error), str(error)
    if code == sqlite3.SQLITE_NOTADB and not _was_ours(path):
        return StoreError(f"{path} is no SQLite database.", _ELSEWHERE, raw)
    if code in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
        return Damaged(f"{path} is damaged.", CHECK_IT, raw)
    if is_busy(error):
        return NotSaved(*LOCKED, raw)
    if code in _NOT_OPENED and os.access(path, os.R_OK):
        return not_writable(
            path, NotSaved(f"{path} can't be opened.", "Check the disk, then try again.", raw)
        )
    return StoreError(f"{path} can't be read.", "Make the file and its folder readable.", raw)


def not_writable(path: Path, error: NotSaved) -> OnlyReadable:
    """What a refused opening comes from: a file or folder that can't be written, by name, or ``error``."""
    return _closed(path, error.raw) or OnlyReadable(error.line, error.hint, error.raw)


def require_writable(path: Path) -> None:
    """Raise ``OnlyReadable`` for a database of ours that a write would fail on only later."""
    closed = _closed(path)
    if closed is not None:
        raise closed


def _closed(path: Path, raw: str = "") -> OnlyReadable | None:
    # Another process may remove a log between two questions: what is gone is closed to nobody.
    refused = (part for part in _parts(path) if not os.access(part, os.W_OK))
    closed = next((part for part in refused if part.exists()), None)
    if closed is None:
        return None
    return OnlyReadable(f"{closed} can't be written.", "Make it writable, then try again.", raw)


def _parts(path: Path) -> Iterator[Path]:
    yield path.parent
    yield path
    yield from (part for part in side_files(path) if part.exists())


def side_files(path: Path) -> tuple[Path, ...]:
    """Where the files beside a database are when there are any."""
    return tuple(path.with_name(f"{path.name}{end}") for end in SIDE_FILES)


def _require_short(path: Path) -> None:
    if len(os.fsencode(os.path.realpath(path))) > MAX_PATH_BYTES:
        raise StoreError(
            f"The database's path is longer than the {MAX_PATH_BYTES} bytes that SQLite takes: {path}",
            "Set LOCAL_AGENT_HOME to a shorter one.",
        )


def _was_ours(path: Path) -> bool:
    """Sessions were held here: a file under this name was our database before its first bytes were lost."""
    return any((path.parent / "locks").glob("*.lock"))


def _size(path: Path) -> int:
    """0 for a file that is not there; another process may remove it between two questions."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def has_log(path: Path) -> bool:
    """Something that is written stands beside the file and not yet in it."""
    beside = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-journal"))
    return any(_size(each) > 0 for each in beside)
