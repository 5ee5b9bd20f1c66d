"""What the database's errors mean to a person."""

from __future__ import annotations

import sqlite3

from sqlalchemy.exc import DBAPIError

from local_agent.domain.errors import Damaged, NotSaved, StoreError
from local_agent.store.examine import CHECK_IT, LOCKED
from local_agent.store.patience import error_code

DATABASE_ERRORS = (DBAPIError, sqlite3.Error)

_NOT_WRITTEN = {
    sqlite3.SQLITE_BUSY: LOCKED,
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


def is_damage(error: BaseException) -> bool:
    """What was asked for can't be read from the file; other rows may be."""
    return error_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOTADB)


def is_index_damage(error: BaseException | None) -> bool:
    """The index of words, which follows from the entries, is what can't be read."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
    return code == sqlite3.SQLITE_CORRUPT_VTAB


def explain(error: BaseException) -> StoreError | None:
    """The failure as a person reads it; None for an error that is a fault of the program."""
    code = error_code(error)
    raw = str(error.orig if isinstance(error, DBAPIError) else error)
    if code in _NOT_WRITTEN:
        line, hint = _NOT_WRITTEN[code]
        return NotSaved(line, hint, raw)
    if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Damaged("The database is damaged.", CHECK_IT, raw)
    if code == sqlite3.SQLITE_INTERRUPT:
        return StoreError("Reading was stopped.", "", raw)
    return None
