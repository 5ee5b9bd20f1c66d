"""Checkpoints: a row each, which names an entry and how far the ledger had come."""

from __future__ import annotations

from sqlalchemy import delete, select, text
from sqlalchemy.orm import Session

from local_agent.domain.checkpoints import KEPT_BEFORE_COMPACTION, Checkpoint, CheckpointKind
from local_agent.domain.errors import UsageError
from local_agent.store import measures, moves
from local_agent.store.clock import utc_now
from local_agent.store.models import SessionRow
from local_agent.store.time_models import CheckpointRow

LARGEST_ID = 2**63 - 1
"""Of any row of SQLite."""
_BEFORE_COMPACTION = text("kind = 'before compaction'")
_KINDS = {str(kind): kind for kind in CheckpointKind}


def make(
    db: Session, session_id: int, label: str, kind: CheckpointKind = CheckpointKind.MANUAL
) -> Checkpoint:
    """A checkpoint of where the session stands now; of those before a compaction the oldest go."""
    head = db.get_one(SessionRow, session_id).head
    row = CheckpointRow(
        session_id=session_id,
        entry_id=head,
        ledger_number=moves.ledger_number(db),
        label=label,
        kind=kind,
        message_count=measures.messages(db, head),
        created_at=utc_now(),
    )
    db.add(row)
    db.flush()
    if kind is CheckpointKind.BEFORE_COMPACTION:
        _drop_oldest(db, session_id)
    return _checkpoint(row)


def by_id(db: Session, session_id: int, checkpoint_id: int) -> Checkpoint:
    """Raises ``UsageError`` where the session has no checkpoint of this number."""
    row = db.get(CheckpointRow, checkpoint_id) if 0 < checkpoint_id <= LARGEST_ID else None
    if row is None or row.session_id != session_id:
        raise UsageError(
            f"This session has no checkpoint {_shown(checkpoint_id)}.", "See those it has: /checkpoints"
        )
    return _checkpoint(row)


def page(db: Session, session_id: int, before: int | None, limit: int) -> list[Checkpoint]:
    """Newest first; ``before`` is the id that the page before ended with."""
    mine = select(CheckpointRow).where(CheckpointRow.session_id == session_id)
    if before is not None:
        mine = mine.where(CheckpointRow.id < before)
    return [_checkpoint(row) for row in db.scalars(mine.order_by(CheckpointRow.id.desc()).limit(limit))]


def _drop_oldest(db: Session, session_id: int) -> None:
    # Written out, so that SQLite can see that the partial index holds all of these.
    mine = (
        select(CheckpointRow.id)
        .where(CheckpointRow.session_id == session_id, _BEFORE_COMPACTION)
        .order_by(CheckpointRow.id.desc())
    )
    old = db.scalars(mine.offset(KEPT_BEFORE_COMPACTION)).all()
    if old:
        db.execute(delete(CheckpointRow).where(CheckpointRow.id.in_(old)))


def _checkpoint(row: CheckpointRow) -> Checkpoint:
    return Checkpoint(
        id=row.id,
        session_id=row.session_id,
        entry_id=row.entry_id,
        ledger_number=row.ledger_number,
        label=row.label,
        kind=_KINDS.get(row.kind, CheckpointKind.MANUAL),
        message_count=row.message_count,
        created_at=row.created_at,
    )


def _shown(number: int) -> str:
    digits = str(number) if abs(number) < 10**20 else f"{str(number)[:20]}…"
    return digits
