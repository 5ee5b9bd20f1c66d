"""Copies of the database: of one moment, private, whole under their name or not there at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import BinaryIO

from local_agent.config.private_files import create_private, private_folder, rename_to_new, sync_folder
from local_agent.domain.crashpoints import reach
from local_agent.domain.errors import StoreError, UsageError
from local_agent.domain.quoting import quoted
from local_agent.store.clock import utc_now
from local_agent.store.engine import make_private_file
from local_agent.store.examine import APPLICATION_ID, Content, connect_readonly, examine
from local_agent.store.failures import explain

SIDE_FILES = ("-wal", "-shm", "-journal")
PAGES_PER_STEP = 100
NAMES_PER_SECOND = 1000
ABANDONED_SECONDS = 3600


NO_COPY = (
    "There is no copy of it. Start local-agent: it offers to read what is left, or to set the file aside."
)


def back_up(path: Path, target: Path | None, backups: Path) -> Path:
    """Copy the database, whatever other processes write meanwhile; without ``target`` into ``backups``.

    Raises ``UsageError`` for a target that is there already, ``StoreError`` for what can't be copied.
    """
    if examine(path) is Content.NOTHING:
        raise StoreError(f"There is no database to copy yet: {path}", "Start with: local-agent")
    with closing(connect_readonly(path)) as source:
        if target is None:
            return keep_copy(source, path, backups)
        with _explained(target):
            try:
                copy(source, target)
            except FileExistsError as error:
                raise UsageError(
                    f"{target} is there already.", "Name a file that is not there yet."
                ) from error
        return target


def keep_copy(source: sqlite3.Connection, path: Path, backups: Path, purpose: str = "") -> Path:
    """A copy in ``backups`` of the database at ``path``, which ``source`` is connected to."""
    with _explained(backups):
        private_folder(backups)
        _sweep(backups)
        target = new_name(path, backups, purpose)
        copy(source, target)
    return target


def keep_bytes(file: BinaryIO, path: Path, backups: Path, purpose: str) -> Path:
    """The same for what SQLite can't read: the open ``file`` and whatever lies beside ``path``."""
    with _explained(backups):
        private_folder(backups)
        target = new_name(path, backups, purpose)
        for end in SIDE_FILES:
            beside = path.with_name(path.name + end)
            if beside.exists():
                with beside.open("rb") as source:
                    _write_new(source, target.with_name(target.name + end))
        _write_new(file, target)
        sync_folder(backups)
    return target


def copy(source: sqlite3.Connection, target: Path) -> None:
    """Copy to a name that is free; raises ``OSError`` and ``sqlite3.Error``."""
    scratch = target.with_name(f".{target.name}.{secrets.token_hex(4)}.partial")
    try:
        make_private_file(scratch)
        with closing(sqlite3.connect(scratch, isolation_level=None)) as made, _one_moment(source):
            source.backup(made, pages=PAGES_PER_STEP, progress=lambda *_: reach("copy:page"))
            # In WAL mode it would need its side files to go with it wherever it goes.
            made.execute("PRAGMA journal_mode = DELETE")
        _sync_file(scratch)
        reach("copy:before-rename")
        rename_to_new(scratch, target)
        sync_folder(target.parent)
        reach("copy:after-rename")
    finally:
        for end in ("", *SIDE_FILES):
            scratch.with_name(scratch.name + end).unlink(missing_ok=True)


def new_name(path: Path, backups: Path, purpose: str = "") -> Path:
    """A free name in ``backups`` that says when the copy was made, and what for."""
    stamp = utc_now().replace(":", "").replace("-", "").partition(".")[0]
    stem = "-".join(part for part in (path.stem, stamp, purpose) if part)
    for number in range(NAMES_PER_SECOND):
        name = backups / f"{stem}{f'-{number}' if number else ''}.db"
        if not os.path.lexists(name):
            return name
    raise FileExistsError(errno.EEXIST, "no name is free", str(backups))


def newest_copy(backups: Path, schema: int | None = None) -> Path | None:
    """The newest in ``backups``; with ``schema`` the newest that a program of that schema number can read."""
    copies = sorted(backups.glob("*.db"), reverse=True)
    return next((each for each in copies if _is_ours(each, schema)), None)


def way_back(backups: Path, schema: int | None = None) -> str:
    """What to do about a database that can't be used."""
    newest = newest_copy(backups, schema)
    if newest is None:
        return NO_COPY
    return f"Go back to a copy with: local-agent db restore {quoted(str(newest))}"


def _is_ours(copy: Path, schema: int | None) -> bool:
    """Read off the header: user version and application id are big-endian at 60 and 68."""
    try:
        with copy.open("rb") as file:
            header = file.read(72)
    except OSError:
        return False
    fits = schema is None or int.from_bytes(header[60:64]) <= schema
    return fits and int.from_bytes(header[68:72]) == APPLICATION_ID


@contextmanager
def _one_moment(source: sqlite3.Connection) -> Iterator[None]:
    """A read transaction: what others write meanwhile neither shows nor starts the copy anew."""
    if source.in_transaction:
        yield
        return
    source.execute("BEGIN")
    try:
        source.execute("SELECT count(*) FROM sqlite_master").fetchone()
        yield
    finally:
        if source.in_transaction:
            source.execute("ROLLBACK")


@contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _no_copy(target, error.strerror or str(error), error) from error
    except sqlite3.Error as error:
        known = explain(error)
        reason = known.line.rstrip(".") if known is not None else str(error)
        raise _no_copy(target, reason, error) from error


def _no_copy(target: Path, reason: str, error: Exception) -> StoreError:
    return StoreError(
        f"No copy of it can be put into {target}: {reason}.",
        "Make the folder writable or free some space, then try again.",
        str(error),
    )


def _write_new(source: BinaryIO, target: Path) -> None:
    descriptor = create_private(target, os.O_WRONLY | os.O_EXCL)
    with os.fdopen(descriptor, "wb") as file:
        shutil.copyfileobj(source, file)
        file.flush()
        os.fsync(file.fileno())


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sweep(backups: Path) -> None:
    """Remove what a process that was killed left half copied, long ago."""
    for scratch in backups.glob(".*.partial*"):
        if time.time() - scratch.stat().st_mtime > ABANDONED_SECONDS:
            scratch.unlink(missing_ok=True)
