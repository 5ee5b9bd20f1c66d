"""The one engine, and what every connection to the database is set to."""

from __future__ import annotations

import errno
import os
import sqlite3
import sys
from pathlib import Path

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.pool import NullPool, StaticPool

from local_agent.store.examine import lenient_text
from local_agent.store.failures import DATABASE_ERRORS, explain
from local_agent.store.patience import BUSY_SECONDS, Patience

_NETWORK = {"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "fuse.sshfs", "fuse.glusterfs", "9p"}


def open_engine(path: Path | None, *, lone: bool = False) -> Engine:
    """An engine on a file, which is created with mode 0600; None: a database in memory.

    ``lone``: one connection for everything, which stays open. In memory there is no other.
    """
    if path is not None:
        make_private_file(path)
    name = ":memory:" if path is None else str(path)
    pool = StaticPool if lone or path is None else NullPool
    engine = create_engine("sqlite://", creator=lambda: _connect(name), poolclass=pool)
    event.listen(engine, "connect", _set_pragmas)
    event.listen(engine, "begin", _begin)
    return engine


def make_private_file(path: Path) -> None:
    """Create a file with mode 0600, or take from one what others may do with it.

    SQLite gives its side files the mode of the database.
    """
    try:
        # Only what is new is opened: closing a descriptor drops this process's locks on the file.
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        mode = path.stat().st_mode & 0o777
        if mode & ~0o600:
            path.chmod(mode & 0o600)
    else:
        os.close(descriptor)
        path.chmod(0o600)  # whatever the umask
    if not os.access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def share(engine: Engine, path: Path, patience: Patience) -> tuple[str, ...]:
    """Switch to the write-ahead log, which lets readers and a writer work side by side.

    Returns what the person should know when several processes can't be kept apart here.
    """
    try:
        mode = patience.until_free(lambda: _switch_to_log(engine), DATABASE_ERRORS)
    except DATABASE_ERRORS as error:
        raise explain(error) or error from error
    kind = network_file_system(path)
    if kind:
        return (f"{path.parent} lies on a network file system ({kind}): use it from one machine at a time.",)
    if mode != "wal":
        return (f"{path.parent} can't share a database: run one local-agent at a time.",)
    return ()


def _switch_to_log(engine: Engine) -> str:
    """The journal mode that the database is in then."""
    with engine.connect() as connection:
        (mode,) = driver_of(connection).execute("PRAGMA journal_mode = WAL").fetchone()
    return str(mode)


def driver_of(connection: Connection) -> sqlite3.Connection:
    """The driver's own connection, for what must happen outside a transaction or from another thread."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, sqlite3.Connection):
        raise TypeError(f"not a connection of the standard library: {driver!r}")
    return driver


def network_file_system(path: Path) -> str:
    """The kind of network file system that ``path`` lies on, where Linux says so; else empty."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        return ""
    # "... ID ROOT MOUNTPOINT OPTIONS [TAGS] - KIND SOURCE ..."; the deepest mount point counts.
    fields = [line.partition(" - ") for line in mounts]
    kinds = {head.split()[4].replace("\\040", " "): tail.split()[0] for head, _, tail in fields if tail}
    folder = path.resolve()
    nearest = next((str(each) for each in folder.parents if str(each) in kinds), "")
    kind = kinds.get(nearest, "")
    return kind if kind in _NETWORK else ""


def _connect(name: str) -> sqlite3.Connection:
    # isolation_level None: Python's own transaction handling is off, "begin" below emits what is meant.
    connection = sqlite3.connect(name, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.text_factory = lenient_text
    return connection


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
