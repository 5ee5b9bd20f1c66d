"""Executions that put files back: no call asks for them, so they have no turn, no entry and no result."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Origin
from local_agent.domain.errors import StoreError
from local_agent.domain.ledger import EventKind, Execution, Receipt, new_execution_id
from local_agent.domain.restoring import RESTORE_TOOL, RestoreIntent
from local_agent.domain.tools import Effect, FileChange
from local_agent.store import executions, ledger
from local_agent.store.models import ExecutionEventRow, ExecutionRow, FileChangeRow

MOVE = "move"
"""Of the facts of a restore: the number of the move that it goes with."""


def begin(db: Session, session_id: int, intent: RestoreIntent, move: int, at: str) -> Execution:
    """Write down that files are put back now, and how."""
    execution = Execution(
        id=new_execution_id(),
        session_id=session_id,
        turn_id=0,
        entry_id=0,
        call_number=0,
        tool=RESTORE_TOOL,
        arguments={"to": intent.what},
        effect=Effect.EFFECTFUL,
        origin=Origin.PERSON,
        requested_at=at,
    )
    ledger.request_one(db, execution)
    return ledger.note(db, session_id, execution, EventKind.STARTED, {**intent.facts(), MOVE: move}, at)


def end(
    db: Session,
    session_id: int,
    execution: Execution,
    kind: EventKind,
    receipt: Receipt,
    changes: Sequence[FileChange],
) -> Execution:
    """Write its end. Raises ``StoreError`` for what is no restore of the session, or has ended."""
    if execution.entry_id or execution.tool != RESTORE_TOOL:
        raise StoreError(f"Execution {execution.id} puts no files back.")
    return ledger.end(db, session_id, execution, kind, receipt, changes)


def unfinished(db: Session, session_id: int) -> Execution | None:
    """The restore that has started and not ended; a session begins none before the last one has."""
    newest = select(ExecutionRow.id).where(
        ExecutionRow.session_id == session_id, ExecutionRow.entry_id.is_(None)
    )
    key = db.scalar(newest.order_by(ExecutionRow.number.desc()).limit(1))
    found = executions.by_ids(db, [key]) if key is not None else []
    open_ones = [each for each in found if each.tool == RESTORE_TOOL and each.state is EventKind.STARTED]
    return open_ones[0] if open_ones else None


def changes_since(db: Session, session_id: int, ledger_number: int) -> list[FileChange]:
    """What the session did to files when the ledger had come so far, oldest first."""
    changes = select(FileChangeRow).join(
        ExecutionEventRow, ExecutionEventRow.number == FileChangeRow.event_number
    )
    changes = changes.where(
        FileChangeRow.event_number > ledger_number,
        # The sum keeps SQLite from beginning with all that the session ever did.
        ExecutionEventRow.session_id.op("+")(0) == session_id,
    )
    rows = db.scalars(changes.order_by(FileChangeRow.event_number, FileChangeRow.place))
    return [executions.change_of(row) for row in rows]
