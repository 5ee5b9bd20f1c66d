"""Where a session stands: every move of its head is a row."""

from __future__ import annotations

from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, Kind
from local_agent.domain.moves import Cause
from local_agent.store import measures, moves
from local_agent.store.models import SessionRow


def move(db: Session, entry: Entry, cause: Cause = Cause.TURN) -> None:
    """Move the head of the session that wrote ``entry`` to it."""
    session = db.get_one(SessionRow, entry.session_id)
    begins = entry.kind is not Kind.ASSISTANT
    if begins and measures.begins_branch(db, session.id, entry.parent, entry.id, session.fork_entry):
        session.branch_count += 1
    before = measures.messages(db, entry.parent)
    messages = before + (entry.kind in measures.COUNTED)
    moves.record(db, session, entry.id, cause, entry.created_at, messages=messages, turn_id=entry.turn_id)
    touch(db, entry)


def touch(db: Session, entry: Entry) -> None:
    """The session's newest entry is this one."""
    session = db.get_one(SessionRow, entry.session_id)
    session.last_entry = entry.id
    session.last_activity = entry.created_at
    db.flush()
