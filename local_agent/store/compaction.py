"""A summary in the place of what leaves the window, as one step with the checkpoint before it."""

from __future__ import annotations

from sqlalchemy.orm import Session

from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.errors import StoreError
from local_agent.domain.moves import Cause
from local_agent.store import checkpoints, head, landings
from local_agent.store.clock import utc_now
from local_agent.store.entries import insert_entry
from local_agent.store.models import SessionRow


def compact(
    db: Session,
    session_id: int,
    parent: int,
    text: str,
    kept_from: int | None,
    context: str,
    origin: Origin,
) -> tuple[Entry, Checkpoint]:
    """Raises ``StoreError`` when the head is not on ``parent`` any more, and for a summary without words."""
    if db.get_one(SessionRow, session_id).head != parent:
        raise StoreError("Something happened meanwhile.", "Try again.")
    if not text.strip():
        raise StoreError("The summary is empty.", "Nothing was changed.")
    landings.require_settled(db, session_id)
    made = checkpoints.make(db, session_id, "", CheckpointKind.BEFORE_COMPACTION)
    summary = Entry(
        id=0,
        session_id=session_id,
        turn_id=None,
        parent=parent,
        kind=Kind.SUMMARY,
        origin=origin,
        text=text,
        context=context,
        kept_from=kept_from,
        created_at=utc_now(),
    )
    entry = insert_entry(db, summary)
    head.move(db, entry, Cause.COMPACTION)
    return entry, made
