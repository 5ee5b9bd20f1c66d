"""A fork is another session that starts on an entry of this one: a pointer, nothing is copied."""

from __future__ import annotations

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Kind, TurnStatus
from local_agent.domain.errors import StoreError
from local_agent.domain.handles import new_handle
from local_agent.domain.sessions import SessionInfo
from local_agent.store import branches, entries, measures, sessions
from local_agent.store.clock import utc_now
from local_agent.store.models import EntryRow, HeadMoveRow, SessionRow, TurnRow

_TO_START_FROM = frozenset({Kind.ASSISTANT, Kind.COMMAND, Kind.SUMMARY})


def fork(db: Session, handle: str, title: str, at: int | None = None) -> SessionInfo:
    """Fork a session at an entry of its tree, or at the end of its last settled turn, whoever holds it; an
    empty title is the parent's.

    Raises ``StoreError`` for one in the trash, without an answer to start from, and for a turn that is not
    over; ``UsageError`` for an entry of another tree.
    """
    parent = sessions.by_handle(db, handle)
    if parent.trashed:
        raise StoreError(
            f"Session {parent.handle} is in the trash.",
            f"Bring it back with: local-agent session untrash {parent.handle}",
        )
    if at is not None:
        place = _settled_place(db, parent.id, at)
        return insert(db, parent, place, title, turns=measures.turns(db, place))
    leaf = settled_leaf(db, parent)
    if parent.head is None:
        raise StoreError(
            f"Session {parent.handle} stands before its first question, so there is nothing to fork.",
            "Do again what was undone there, or choose a place in its tree: /redo, /tree",
        )
    if not _answered(db, leaf):
        raise StoreError(
            f"Session {parent.handle} has no finished answer yet, so there is nothing to fork.",
            "Try again once it has one.",
        )
    return insert(db, parent, leaf, title)


def settled_leaf(db: Session, session: SessionInfo) -> int | None:
    """Where the head stands but for a turn that runs, or that a dead process left running.

    Reads as many rows as that turn has moved the head, plus one.
    """
    moves = select(HeadMoveRow.to_entry).outerjoin(TurnRow, TurnRow.id == HeadMoveRow.turn_id)
    moves = moves.where(
        HeadMoveRow.session_id == session.id,
        or_(TurnRow.status.is_(None), TurnRow.status != TurnStatus.RUNNING),
    )
    newest = db.execute(moves.order_by(HeadMoveRow.number.desc()).limit(1)).one_or_none()
    # The birth of a fork is no move of its head.
    return newest[0] if newest is not None else session.fork_entry


def insert(
    db: Session, parent: SessionInfo, leaf: int | None, title: str, *, turns: int | None = None
) -> SessionInfo:
    """A session of the parent's folder, model and backend whose head is ``leaf``; ``turns`` lead to it, or
    all of the parent's that are over.
    """
    now = utc_now()
    running = TurnRow.session_id == parent.id, TurnRow.status == TurnStatus.RUNNING
    if turns is None:
        turns = parent.turn_count - (db.scalar(select(func.count()).where(*running)) or 0)
    row = SessionRow(
        handle=free_handle(db),
        title=title or parent.title,
        title_source="person" if title else parent.title_source,
        workspace_id=parent.workspace_id,
        head=leaf,
        mode=parent.mode,
        backend=parent.backend,
        host=parent.host,
        model=parent.model,
        model_pinned=parent.model_pinned,
        headless=False,
        trashed=False,
        parent_session=parent.id,
        fork_entry=leaf,
        created_at=now,
        last_activity=now,
        # Made now, so it lists before all that was written up to now.
        last_entry=db.scalar(select(func.max(EntryRow.id))) or 0,
        turn_count=turns,
    )
    db.add(row)
    db.flush()
    return sessions.by_id(db, row.id)


def _answered(db: Session, leaf: int | None) -> bool:
    path = entries.walk(db, leaf, stop=Kind.ASSISTANT)
    return any(node.kind in _TO_START_FROM for node in path)


def _settled_place(db: Session, session_id: int, entry_id: int) -> int:
    node, _ = branches.require_in_tree(db, session_id, entry_id)
    turn = db.get(TurnRow, node.turn_id) if node.turn_id is not None else None
    if turn is not None and turn.status == TurnStatus.RUNNING:
        raise StoreError("That turn is not over yet.", "Fork once it is, or from an earlier message.")
    return node.id


def free_handle(db: Session) -> str:
    """A new handle that no session has."""
    while True:
        handle = new_handle()
        if db.scalar(select(SessionRow.id).where(SessionRow.handle == handle)) is None:
            return handle
