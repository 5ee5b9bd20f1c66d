"""Prove that a database is damaged, and put it aside so that a new one can be built in its place."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.errors import StoreError
from local_agent.store.clock import utc_now
from local_agent.store.examine import Content, connect_readonly, examine, side_files
from local_agent.store.patience import error_code
from local_agent.store.private_copy import PrivateCopy

_NAMES_A_SECOND = 100


@dataclass(frozen=True, slots=True)
class Damage:
    """What is wrong with one file. ``readable``: its tables are known, so that a part can still be read."""

    words: str
    readable: bool
    inode: int


def find_damage(path: Path) -> Damage | None:
    """SQLite's own check of a private copy; None for a file that it finds nothing wrong with.

    Takes about a second for every 100 MB. Raises ``StoreError`` when no copy can be made.
    """
    inode = path.stat().st_ino
    with PrivateCopy(path) as copy:
        try:
            readable = examine(copy.path) is Content.OURS
        except StoreError:
            readable = False
        words = _integrity(copy.path)
    return Damage(words, readable, inode) if words else None


def set_aside(path: Path, damage: Damage) -> Path:
    """Give the file and what lies beside it names with the date; returns the file's. Nothing is deleted.

    Raises ``StoreError`` when it can't be renamed, or is not the file any more that was found damaged.
    """
    try:
        if path.stat().st_ino != damage.inode:
            raise StoreError(f"{path} was replaced meanwhile.", "Try again.")
        target = _free_name(path)
        # The log first: left alone beside a new database it would be taken for that one's.
        for part in (*side_files(path), path):
            if part.exists():
                part.rename(target.with_name(part.name.replace(path.name, target.name, 1)))
    except OSError as error:
        raise StoreError(
            f"{path} can't be renamed: {error.strerror}.", "Make its folder writable.", str(error)
        ) from error
    return target


def _integrity(path: Path) -> str:
    try:
        with closing(connect_readonly(path)) as connection:
            (words,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except StoreError as error:
        return error.raw or error.line
    except sqlite3.Error as error:
        if error_code(error) not in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return ""
        return str(error)
    return "" if words == "ok" else str(words)


def _free_name(path: Path) -> Path:
    stamp = utc_now().replace(":", "").replace("-", "").partition(".")[0]
    for number in range(_NAMES_A_SECOND):
        name = path.with_name(f"{path.stem}-damaged-{stamp}{f'-{number}' if number else ''}{path.suffix}")
        if not name.exists():
            return name
    raise FileExistsError(0, "no name is free", str(path))
