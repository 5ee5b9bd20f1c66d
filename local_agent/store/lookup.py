"""Find a session before anything heavy is imported: the standard library's sqlite3, read-only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.errors import OnlyReadable
from local_agent.domain.handles import is_handle
from local_agent.store.examine import Content, connect_readonly, examine, unreadable
from local_agent.store.patience import Patience
from local_agent.store.private_copy import PrivateCopy

_FOUND = """
    SELECT s.handle, CAST(s.title AS BLOB), CAST(w.root AS BLOB), s.trashed
    FROM sessions AS s JOIN workspaces AS w ON w.id = s.workspace_id
"""


@dataclass(frozen=True, slots=True)
class Found:
    """What a start needs to know of a session."""

    handle: str
    title: str
    workspace_root: str
    trashed: bool = False


def lookup(db_path: Path, handle: str, patience: Patience | None = None) -> Found | None:
    """The session with this canonical handle; ``StoreError`` for a file that is not ours or damaged."""
    return _first(db_path, f"{_FOUND} WHERE s.handle = ?", handle, patience)


def latest(db_path: Path, workspace_root: str, patience: Patience | None = None) -> Found | None:
    """The folder's newest session by what was written last; neither trashed nor made by ``-p``."""
    where = "WHERE w.root = CAST(? AS TEXT) AND s.trashed = 0 AND s.headless = 0"
    root = workspace_root.encode("utf-8", "surrogatepass")
    return _first(db_path, f"{_FOUND} {where} ORDER BY s.last_entry DESC, s.id DESC LIMIT 1", root, patience)


def known_handles(db_path: Path, limit: int, patience: Patience | None = None) -> list[str]:
    """Handles out of the trash, newest first; what is none was written by no program of ours."""
    query = "SELECT handle FROM sessions WHERE trashed = 0 ORDER BY last_entry DESC, id DESC LIMIT ?"
    return [handle for (handle,) in _rows(db_path, query, limit, patience) if is_handle(handle)]


def _first(db_path: Path, query: str, value: object, patience: Patience | None) -> Found | None:
    for handle, title, root, trashed in _rows(db_path, query, value, patience):
        return Found(str(handle), _text(title), _text(root), bool(trashed))
    return None


def _rows(db_path: Path, query: str, value: object, patience: Patience | None) -> list[tuple[object, ...]]:
    patience = patience or Patience()
    try:
        return _read(db_path, query, value, patience)
    except OnlyReadable:
        with PrivateCopy(db_path) as copy:
            return _read(copy.path, query, value, patience)


def _read(db_path: Path, query: str, value: object, patience: Patience) -> list[tuple[object, ...]]:
    if examine(db_path, patience) is Content.NOTHING:
        return []
    with closing(connect_readonly(db_path, patience)) as connection:
        try:
            return patience.until_free(lambda: connection.execute(query, (value,)).fetchall())
        except sqlite3.Error as error:
            raise unreadable(db_path, error) from error


def _text(value: object) -> str:
    if not isinstance(value, bytes):
        return str(value)
    try:
        return value.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return value.decode("utf-8", "replace")
