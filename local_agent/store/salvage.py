"""What the indexes still know of sessions whose rows lie on a damaged page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from local_agent.domain.sessions import SessionInfo
from local_agent.store.failures import is_damage

UNREADABLE = "(can't be read: the database is damaged)"

# Both hold all the columns that are asked for, so neither reads the table.
_PLACES = """
    SELECT id, workspace_id, trashed, last_entry FROM sessions INDEXED BY sessions_of_workspace
    ORDER BY last_entry DESC, id DESC
"""
_HANDLES = text("SELECT id, handle FROM sessions INDEXED BY sqlite_autoindex_sessions_1")

T = TypeVar("T")
U = TypeVar("U")


class IndexedSession(NamedTuple):
    """A session as far as the indexes know it."""

    id: int
    workspace_id: int
    trashed: bool
    last_entry: int


def indexed_sessions(db: Session) -> list[IndexedSession]:
    """All sessions, newest first; raises where both that index and the table are damaged."""
    rows = or_without(lambda: db.execute(text(_PLACES)).all(), None)
    if rows is None:
        rows = db.execute(text(_PLACES.replace("INDEXED BY sessions_of_workspace", "NOT INDEXED"))).all()
    return [IndexedSession(key, place, bool(trashed), last) for key, place, trashed, last in rows]


def unreadable_session(db: Session, found: IndexedSession, workspace_root: str) -> SessionInfo:
    """Stands in a list for a session whose row can't be read."""
    handles: dict[Any, Any] = dict(or_without(lambda: [tuple(row) for row in db.execute(_HANDLES)], []))
    return SessionInfo(
        id=found.id,
        handle=str(handles.get(found.id, "")),
        title=UNREADABLE,
        title_source="task",
        workspace_id=found.workspace_id,
        workspace_root=workspace_root,
        head=None,
        mode="",
        backend="",
        host="",
        model="",
        model_pinned=False,
        headless=False,
        trashed=found.trashed,
        parent_session=None,
        fork_entry=None,
        created_at="",
        last_activity="",
        last_entry=found.last_entry,
        turn_count=0,
        error_count=0,
    )


def or_without(look: Callable[[], T], otherwise: U) -> T | U:
    """What ``look`` reads, or ``otherwise`` where it lies on a damaged page."""
    try:
        return look()
    except DBAPIError as error:
        if not is_damage(error):
            raise
        return otherwise


def each_readable(
    keys: Sequence[int], look: Callable[[Sequence[int]], Sequence[T]], lost: Callable[[int], T]
) -> Iterator[T]:
    """What ``look`` finds for ``keys``, halved until only those are ``lost`` that can't be read."""
    if not keys:
        return
    found = or_without(lambda: look(keys), None)
    if found is not None:
        yield from found
    elif len(keys) == 1:
        yield lost(keys[0])
    else:
        half = len(keys) // 2
        yield from each_readable(keys[:half], look, lost)
        yield from each_readable(keys[half:], look, lost)
