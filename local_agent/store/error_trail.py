"""Failed turns, kept beside the history: at most 200 a session, the oldest go first."""

from __future__ import annotations

from sqlalchemy import delete, insert, select
from sqlalchemy.orm import Session

from local_agent.domain.entries import ErrorRecord
from local_agent.store.clock import utc_now
from local_agent.store.models import ErrorRow

LIMIT = 200


def add(db: Session, session_id: int, turn_id: int | None, record: ErrorRecord) -> None:
    db.execute(
        insert(ErrorRow).values(
            session_id=session_id,
            turn_id=turn_id,
            kind=record.kind,
            line=record.line,
            raw=record.raw,
            question=record.question,
            model=record.model,
            provider=record.provider,
            created_at=record.created_at or utc_now(),
        )
    )
    mine = ErrorRow.session_id == session_id
    too_old = select(ErrorRow.id).where(mine).order_by(ErrorRow.id.desc()).offset(LIMIT)
    db.execute(delete(ErrorRow).where(ErrorRow.id.in_(too_old)))


def of_session(db: Session, session_id: int) -> list[ErrorRecord]:
    """Oldest first."""
    rows = db.scalars(select(ErrorRow).where(ErrorRow.session_id == session_id).order_by(ErrorRow.id))
    return [_record(row) for row in rows]


def by_turn(db: Session, turn_ids: list[int]) -> dict[int, ErrorRecord]:
    if not turn_ids:
        return {}
    mine = select(ErrorRow).where(ErrorRow.turn_id.in_(turn_ids))
    rows = db.scalars(mine.order_by(ErrorRow.turn_id, ErrorRow.id))
    return {row.turn_id: _record(row) for row in rows if row.turn_id is not None}


def _record(row: ErrorRow) -> ErrorRecord:
    return ErrorRecord(
        kind=row.kind,
        line=row.line,
        raw=row.raw,
        question=row.question,
        model=row.model,
        provider=row.provider,
        turn_id=row.turn_id,
        created_at=row.created_at,
    )
