"""The one engine, and what every connection to the database is set to."""

from __future__ import annotations

import os
import sqlite3
import sys
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool, StaticPool

BUSY_SECONDS = 0.1
"""SQLite's own wait can't be interrupted, so it is short; whoever needs longer tries again."""


def open_engine(path: Path | None) -> Engine:
    """An engine on a file, which is created with mode 0600; None: a database in memory on one connection."""
    if path is None:
        engine = create_engine("sqlite://", creator=lambda: _connect(":memory:"), poolclass=StaticPool)
    else:
        make_private_file(path)
        engine = create_engine("sqlite://", creator=lambda: _connect(str(path)), poolclass=NullPool)
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def make_private_file(path: Path) -> None:
    """Create or tighten a file to mode 0600; SQLite gives its side files the mode of the database."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        if os.fstat(descriptor).st_mode & 0o777 != 0o600:
            os.fchmod(descriptor, 0o600)
    finally:
        os.close(descriptor)


def _connect(name: str) -> sqlite3.Connection:
    # isolation_level None: Python's own transaction handling is off, "begin" below emits what is meant.
    return sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)


def _set_pragmas(connection: sqlite3.Connection, _record: object) -> None:
    pragmas = [
        f"busy_timeout = {int(BUSY_SECONDS * 1000)}",
        "synchronous = FULL",
        "foreign_keys = ON",
        # Without it INSERT OR REPLACE slips past the triggers that refuse a delete.
        "recursive_triggers = ON",
        "secure_delete = ON",
    ]
    if sys.platform == "darwin":
        pragmas += ["fullfsync = ON", "checkpoint_fullfsync = ON"]
    for pragma in pragmas:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")
