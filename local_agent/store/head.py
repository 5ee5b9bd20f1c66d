"""Where a session stands: every move of its head is a row."""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry
from local_agent.store.models import HeadMoveRow, SessionRow


def move(db: Session, entry: Entry, cause: str = "turn") -> None:
    """Move the head of the session that wrote ``entry`` to it."""
    session = db.get_one(SessionRow, entry.session_id)
    newest = db.scalar(select(func.max(HeadMoveRow.number)).where(HeadMoveRow.session_id == session.id))
    db.add(
        HeadMoveRow(
            session_id=session.id,
            number=(newest or 0) + 1,
            from_entry=session.head,
            to_entry=entry.id,
            cause=cause,
            turn_id=entry.turn_id,
            created_at=entry.created_at,
        )
    )
    session.head = entry.id
    touch(db, entry)


def touch(db: Session, entry: Entry) -> None:
    """The session's newest entry is this one."""
    session = db.get_one(SessionRow, entry.session_id)
    session.last_entry = entry.id
    session.last_activity = entry.created_at
    db.flush()
