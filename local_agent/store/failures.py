"""What the database's errors mean to a person."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from local_agent.domain.errors import NotSaved, StoreError

T = TypeVar("T")

PATIENCE_SECONDS = 60.0
RETRY_SECONDS = 0.02

_NOT_WRITTEN = {
    sqlite3.SQLITE_BUSY: (
        "The database is locked by another program.",
        "Close what holds it, then try again.",
    ),
    sqlite3.SQLITE_LOCKED: ("The database is locked.", "Try again."),
    sqlite3.SQLITE_READONLY: ("The database is read-only.", "Make the file and its folder writable."),
    sqlite3.SQLITE_FULL: ("The disk is full.", "Free some space, then try again."),
    sqlite3.SQLITE_IOERR: ("The disk reports an error.", "Check the disk, then try again."),
    sqlite3.SQLITE_CANTOPEN: (
        "The database can't be opened.",
        "Check that its folder is there and writable.",
    ),
    sqlite3.SQLITE_PERM: ("The database may not be written.", "Make the file and its folder writable."),
}


def error_code(error: BaseException) -> int:
    """The primary SQLite result code behind an error; 0 when it is none of SQLite's."""
    source = error.orig if isinstance(error, DBAPIError) else error
    code = getattr(source, "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0


def is_busy(error: BaseException) -> bool:
    """Another connection has the lock: trying again can help."""
    return error_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def is_damage(error: BaseException) -> bool:
    """What was asked for can't be read from the file; other rows may be."""
    return error_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB)


def until_free(step: Callable[[], T]) -> T:
    """Try again while another process has the database locked, for at most a minute."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            return step()
        except (DBAPIError, sqlite3.Error) as error:
            if not is_busy(error) or time.monotonic() > deadline:
                raise
            time.sleep(RETRY_SECONDS)  # some locks are refused at once, without SQLite's own wait


def explain(error: BaseException) -> StoreError | None:
    """The failure as a person reads it; None for an error that is a fault of the program."""
    code = error_code(error)
    raw = str(error.orig if isinstance(error, DBAPIError) else error)
    if code in _NOT_WRITTEN:
        line, hint = _NOT_WRITTEN[code]
        return NotSaved(line, hint, raw)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return StoreError(
            "The database is damaged.", "Copy the file somewhere safe, then run: local-agent doctor", raw
        )
    if code == sqlite3.SQLITE_INTERRUPT:
        return StoreError("Reading was stopped.", "", raw)
    return None
