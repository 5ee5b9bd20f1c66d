"""Parts of a path as screens, requests and recall read them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import ColumnElement, and_, select
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, Kind, Origin, Slice
from local_agent.domain.marks import marks_of
from local_agent.domain.own_command import as_typed
from local_agent.domain.tree import forgets_pictures, without_forgotten_pictures
from local_agent.store import entries, error_trail, executions, turns
from local_agent.store.entries import Node
from local_agent.store.failures import is_damage
from local_agent.store.models import EntryRow, SessionRow, WorkspaceRow
from local_agent.store.salvage import or_without

T = TypeVar("T")

TYPED = (Kind.QUESTION, Kind.COMMAND)
"""What a person writes into the composer."""
_ENTRIES_A_QUESTION = 8
"""How much longer than the questions wanted a path is followed to find them."""


def tail(db: Session, session_id: int, count: int, leaf: int | None = None) -> Slice:
    """The last ``count`` nodes of the path to ``leaf``, or to the session's head, with their results."""
    if leaf is None:
        leaf = db.scalar(select(SessionRow.head).where(SessionRow.id == session_id))
    nodes = entries.walk(db, leaf, limit=count + 1)
    return _marked(db, _slice(db, session_id, nodes, count), nodes)


def before(db: Session, session_id: int, entry_id: int, count: int) -> Slice:
    """The ``count`` nodes that lead to ``entry_id``, without it."""
    nodes = entries.walk(db, entry_id, limit=count + 2)
    part = _slice(db, session_id, nodes[1:], count)
    if not any(entry.pictures for entry in part.entries) and not _marked_since(db, session_id, part):
        return part
    # What is said of these exchanges stands behind them, anywhere on the way to the head.
    head = db.scalar(select(SessionRow.head).where(SessionRow.id == session_id))
    behind = entries.walk(db, head, floor=part.entries[0].id)
    markers = entries.read(db, [node for node in behind if node.kind is Kind.MARKER])
    forgetting = max((marker.id for marker in markers if forgets_pictures(marker)), default=0)
    shown = tuple(without_forgotten_pictures(part.entries, forgetting))
    return replace(part, entries=shown, marks=_marks_of_turns(db, markers))


def _marked_since(db: Session, session_id: int, part: Slice) -> bool:
    """Whether this session, or one that it comes from, has any marker that may stand behind a part."""
    own = select(SessionRow.id, SessionRow.parent_session).where(SessionRow.id == session_id)
    lineage = own.cte("lineage", recursive=True)
    above = select(SessionRow.id, SessionRow.parent_session)
    lineage = lineage.union(above.join(lineage, SessionRow.id == lineage.c.parent_session))
    first = part.entries[0].id if part.entries else 0
    marker = select(EntryRow.id).where(
        EntryRow.session_id.in_(select(lineage.c.id)), EntryRow.kind == Kind.MARKER, EntryRow.id > first
    )
    return or_without(lambda: db.scalar(marker.limit(1)) is not None, False)


def _marked(db: Session, part: Slice, nodes: Sequence[Node]) -> Slice:
    """With what the markers among these nodes say: behind the last part of a path there are no others."""
    if not any(node.kind is Kind.MARKER for node in nodes):
        return part
    return replace(part, marks=_marks_of_turns(db, part.entries))


def _marks_of_turns(db: Session, path: Sequence[Entry]) -> dict[int, str]:
    """By turn, what is wanted of an exchange by its question; ``path`` is oldest first."""
    marks = marks_of(sorted(path, key=lambda entry: entry.id))
    if not marks:
        return {}
    found = select(EntryRow.id, EntryRow.turn_id).where(
        EntryRow.id.in_(marks), EntryRow.kind.in_(TYPED), EntryRow.turn_id.is_not(None)
    )
    rows = or_without(lambda: db.execute(found).all(), ())
    return {turn: str(marks[key]) for key, turn in rows if turn is not None}


def model_path(db: Session, leaf: int) -> list[Entry]:
    nodes = entries.with_results(db, entries.walk_model_facing(db, leaf))
    return entries.read(db, nodes)


def questions(db: Session, root: str, session_id: int | None, limit: int) -> list[str]:
    """What a person typed: the questions and commands of the session, then of the folder, newest first."""
    workspace = select(WorkspaceRow.id).where(WorkspaceRow.root == root).scalar_subquery()
    visible = SessionRow.workspace_id == workspace, ~SessionRow.trashed
    nodes: list[Node] = []
    if session_id is not None:
        nodes += _asked(db, EntryRow.session_id == session_id, limit)
        nodes += _inherited(db, SessionRow.id == session_id, limit)
    others = _asked(db, EntryRow.session_id.in_(select(SessionRow.id).where(*visible)), limit)
    # What stands in the trash stays visible where a fork out of the trash stands on it.
    in_trash = SessionRow.parent_session.in_(select(SessionRow.id).where(SessionRow.trashed))
    others += _inherited(db, and_(*visible, in_trash), limit)
    nodes += sorted(others, key=lambda node: node.id, reverse=True)
    read = entries.read(db, list(dict.fromkeys(nodes))[:limit])
    texts = [_as_typed(entry) for entry in read if entry.text.strip() and entry.origin is Origin.PERSON]
    return list(dict.fromkeys(texts))


def _as_typed(entry: Entry) -> str:
    return as_typed(entry.text) if entry.kind is Kind.COMMAND else entry.text


def _asked(db: Session, where: ColumnElement[bool], limit: int) -> list[Node]:
    """The newest questions of a person, of the entries that ``where`` chooses."""
    columns = EntryRow.id, EntryRow.parent, EntryRow.kind, EntryRow.turn_id
    newest = select(*columns).order_by(EntryRow.id.desc()).limit(limit)
    asked = EntryRow.kind.in_(TYPED), EntryRow.origin == Origin.PERSON
    rows = db.execute(newest.where(*asked, where))
    return [Node(key, parent, Kind(kind), turn) for key, parent, kind, turn in rows]


def _inherited(db: Session, where: ColumnElement[bool], limit: int) -> list[Node]:
    """The newest questions that forks stand on, of the sessions that ``where`` chooses."""
    leaves = db.scalars(select(SessionRow.fork_entry).where(SessionRow.fork_entry.is_not(None), where))
    paths = [entries.walk(db, leaf, limit=limit * _ENTRIES_A_QUESTION) for leaf in leaves.all()]
    return [node for path in paths for node in path if node.kind in TYPED]


def _slice(db: Session, session_id: int, nodes: Sequence[Node], count: int) -> Slice:
    path = entries.with_results(db, nodes[:count])
    found = entries.read(db, path, session_id)
    touched = sorted({node.turn_id for node in path if node.turn_id is not None})
    return Slice(
        entries=tuple(without_forgotten_pictures(found)),
        turns=_readable(lambda: turns.by_ids(db, touched)),
        errors=_readable(lambda: error_trail.by_turn(db, touched)),
        executions=executions.of_entries(db, found),
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
