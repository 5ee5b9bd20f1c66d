"""The ledger as it is written: events are added here alone, each checked against the state machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, Origin
from local_agent.domain.executions import (
    CUT_OFF,
    NOT_RUN,
    LedgerEvent,
    NotAllowed,
    advanced,
    bounded,
    new_executions,
    result_entry,
)
from local_agent.domain.ledger import (
    TERMINAL,
    EventKind,
    Execution,
    Receipt,
    canonical,
    digest_of,
    digest_of_text,
    may_follow,
)
from local_agent.domain.tools import Effect, FileChange, ResultStatus
from local_agent.store import executions, head
from local_agent.store.clock import utc_now
from local_agent.store.entries import insert_entry
from local_agent.store.models import (
    ExecutionEventRow,
    ExecutionRow,
    FileChangeRow,
)

_KINDS = {str(kind): kind for kind in EventKind}
_LOST = "The program ended while it ran."


def request(
    db: Session, entry: Entry, effects: Sequence[Effect], ids: Sequence[str] = ()
) -> tuple[Execution, ...]:
    """Write an execution for each call of an entry that was just inserted, and that it was requested."""
    found = new_executions(entry, effects, ids)
    for each in found:
        request_one(db, each)
    return found


def request_one(db: Session, execution: Execution) -> None:
    """Write an execution, and that it was requested. Of one that no entry asks for the ids of turn and
    entry are 0.
    """
    called = execution.entry_id != 0
    db.add(
        ExecutionRow(
            id=execution.id,
            session_id=execution.session_id,
            turn_id=execution.turn_id if called else None,
            entry_id=execution.entry_id if called else None,
            call_number=execution.call_number if called else None,
            tool=execution.tool,
            effect=execution.effect,
            origin=execution.origin,
            recovered=execution.recovered,
            arguments_digest=digest_of(execution.arguments if called else {}),
        )
    )
    # Executions are numbered in call order.
    db.flush()
    _add(db, execution, LedgerEvent(EventKind.REQUESTED, {}, execution.requested_at))


def note(
    db: Session,
    session_id: int,
    execution: Execution,
    kind: EventKind,
    detail: Mapping[str, object],
    at: str = "",
) -> Execution:
    """Add an event that ends nothing. Raises ``StoreError`` where it may not follow."""
    if kind in TERMINAL:
        raise ValueError(f"{kind} comes with a result")
    event = LedgerEvent(kind, detail, at or utc_now())
    stored = _as_stored(db, session_id, execution, kind)
    _add(db, stored, event)
    return advanced(stored, event)


def finish(
    db: Session,
    session_id: int,
    execution: Execution,
    kind: EventKind,
    receipt: Receipt,
    text: str,
    changes: Sequence[FileChange],
    at: str = "",
    origin: Origin = Origin.TOOL,
) -> tuple[Execution, Entry]:
    """Add a terminal event with what was changed and the result. An uncertain end has no result yet: its
    entry is stored nowhere and has the id 0.
    """
    found = end(db, session_id, execution, kind, receipt, changes, at, text)
    entry = result_entry(found, text, origin, found.ended_at)
    if kind is not EventKind.OUTCOME_UNKNOWN:
        entry = insert_entry(db, entry)
        head.touch(db, entry)
    return found, entry


def end(
    db: Session,
    session_id: int,
    execution: Execution,
    kind: EventKind,
    receipt: Receipt,
    changes: Sequence[FileChange],
    at: str = "",
    text: str = "",
) -> Execution:
    """Add a terminal event with what was changed, and no result."""
    event = LedgerEvent(kind, asdict(bounded(receipt, text)), at or utc_now())
    stored = _as_stored(db, session_id, execution, kind)
    write_changes(db, execution.id, _add(db, stored, event), changes)
    return replace(advanced(stored, event), changes=tuple(changes))


def write_changes(db: Session, execution_id: str, event_number: int, changes: Sequence[FileChange]) -> None:
    """What an execution did to files, under the event that tells of its end."""
    for place, change in enumerate(changes):
        db.add(
            FileChangeRow(
                event_number=event_number,
                place=place,
                execution_id=execution_id,
                path=change.path,
                kind=change.kind,
                before_digest=change.before,
                after_digest=change.after,
                mode_before=change.mode_before,
                mode_after=change.mode_after,
            )
        )


def close(db: Session, session_id: int, turn_ids: Sequence[int], at: str) -> None:
    """End the calls of turns that are over: what never started did not run, and what started and may have
    had an effect is uncertain.
    """
    for each in executions.of_turns(db, turn_ids):
        if each.ended or each.session_id != session_id:
            continue
        started = each.state is EventKind.STARTED
        uncertain = started and each.effect is not Effect.READ_ONLY
        kind = EventKind.OUTCOME_UNKNOWN if uncertain else EventKind.CANCELLED
        status = ResultStatus.UNCERTAIN if uncertain else ResultStatus.CANCELLED
        text = "" if uncertain else CUT_OFF if started else NOT_RUN
        receipt = Receipt(status, _LOST if started else "Not run.")
        try:
            finish(db, session_id, each, kind, receipt, text, (), at, Origin.PROGRAM)
        except NotAllowed:
            # Somebody has put events there that follow no rule: it stays as it is, and shows as unreadable.
            continue


def _add(db: Session, execution: Execution, event: LedgerEvent) -> int:
    """Add one event if the state machine allows it; its number."""
    mine = ExecutionEventRow.execution_id == execution.id
    stored = db.execute(select(ExecutionEventRow.number, ExecutionEventRow.kind).where(mine)).all()
    known = [_KINDS[kind] for _, kind in sorted(stored) if kind in _KINDS]
    newest = known[-1] if known else None
    if not may_follow(newest, event.kind):
        raise NotAllowed(execution.id, newest, event.kind)
    detail = canonical(event.detail)
    row = ExecutionEventRow(
        execution_id=execution.id,
        session_id=execution.session_id,
        kind=event.kind,
        detail=detail,
        digest=digest_of_text(detail),
        created_at=event.at,
    )
    db.add(row)
    db.flush()
    return row.number


def _as_stored(db: Session, session_id: int, execution: Execution, event: EventKind) -> Execution:
    """The execution with its place as it is stored; whoever holds it may know that by ids of their own.

    Nothing follows in a ledger that has no such call of the session.
    """
    columns = select(ExecutionRow.session_id, ExecutionRow.turn_id, ExecutionRow.entry_id)
    row = db.execute(columns.where(ExecutionRow.id == execution.id)).one_or_none()
    if row is None or row[0] != session_id:
        raise NotAllowed(execution.id, None, event)
    return replace(execution, session_id=session_id, turn_id=row[1], entry_id=row[2])
