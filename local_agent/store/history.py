"""Parts of a path as screens, requests and recall read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy import Row, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, Kind, Origin, Slice
from local_agent.store import entries, error_trail, turns
from local_agent.store.entries import Node
from local_agent.store.failures import is_damage
from local_agent.store.models import EntryRow, SessionRow, WorkspaceRow

T = TypeVar("T")


def tail(db: Session, session_id: int, count: int) -> Slice:
    """The last ``count`` nodes of the session's path, with their results."""
    head = db.scalar(select(SessionRow.head).where(SessionRow.id == session_id))
    return _slice(db, session_id, entries.walk(db, head, limit=count + 1), count)


def before(db: Session, session_id: int, entry_id: int, count: int) -> Slice:
    """The ``count`` nodes that lead to ``entry_id``, without it."""
    nodes = entries.walk(db, entry_id, limit=count + 2)
    return _slice(db, session_id, nodes[1:], count)


def model_path(db: Session, leaf: int) -> list[Entry]:
    nodes = entries.with_results(db, entries.walk_model_facing(db, leaf))
    return entries.read(db, nodes)


def questions(db: Session, root: str, session_id: int | None, limit: int) -> list[str]:
    """What a person asked: the session's questions, then those of the workspace's others, newest first."""
    asked = EntryRow.kind == Kind.QUESTION, EntryRow.origin == Origin.PERSON
    newest = select(EntryRow.id, EntryRow.parent, EntryRow.turn_id).where(*asked)
    newest = newest.order_by(EntryRow.id.desc()).limit(limit)
    workspace = select(WorkspaceRow.id).where(WorkspaceRow.root == root).scalar_subquery()
    others = select(SessionRow.id).where(SessionRow.workspace_id == workspace, ~SessionRow.trashed)
    rows: list[Row[int, int | None, int | None]] = []
    if session_id is not None:
        rows += db.execute(newest.where(EntryRow.session_id == session_id)).all()
        others = others.where(SessionRow.id != session_id)
    rows += db.execute(newest.where(EntryRow.session_id.in_(others))).all()
    nodes = [Node(key, parent, Kind.QUESTION, turn) for key, parent, turn in rows[:limit]]
    texts = [entry.text for entry in entries.read(db, nodes) if entry.readable]
    return list(dict.fromkeys(texts))


def _slice(db: Session, session_id: int, nodes: Sequence[Node], count: int) -> Slice:
    path = entries.with_results(db, nodes[:count])
    found = entries.read(db, path, session_id)
    touched = sorted({node.turn_id for node in path if node.turn_id is not None})
    return Slice(
        entries=tuple(found),
        turns=_readable(lambda: turns.by_ids(db, touched)),
        errors=_readable(lambda: error_trail.by_turn(db, touched)),
        more=len(nodes) > count,
    )


def _readable(look: Callable[[], dict[int, T]]) -> dict[int, T]:
    """What stands beside the text is no reason to withhold the text: nothing, where it is damaged."""
    try:
        return look()
    except DBAPIError as error:
        if not is_damage(error):
            raise
        return {}
