"""Calls whose outcome nobody knew are settled, and results that were lost are written again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Origin
from local_agent.domain.errors import StoreError
from local_agent.domain.executions import NOTES, result_entry
from local_agent.domain.intended import intended_changes
from local_agent.domain.ledger import EventKind, Evidence, Execution, Observation, Receipt, set_digest
from local_agent.store import executions
from local_agent.store.clock import utc_now
from local_agent.store.entries import insert_entry
from local_agent.store.ledger import write_changes
from local_agent.store.models import ExecutionEventRow, ReconciliationRow, SessionRow, WorkspaceRow

SETTLED_AT_ONCE = 100
"""Uncertain executions that are settled in one transaction at most."""


def settle(db: Session, session_id: int, ids: Sequence[str], evidence: Evidence, expected: str | None) -> int:
    """Write what was found of uncertain executions of a session, and tell it the model; how many are new.

    Of one that took effect the files that it was to change count as changed by it.

    ``expected`` is the ``set_digest`` of the first ``SETTLED_AT_ONCE`` pending ones as the person saw them.
    Refused whole with ``StoreError``: more than that many, one that is not uncertain, one that was settled
    by other evidence, a set that has changed. What the same evidence has settled already stays.
    """
    if len(ids) > SETTLED_AT_ONCE:
        raise StoreError(
            f"At most {SETTLED_AT_ONCE} executions are settled at once.", "Settle fewer of them."
        )
    found = {each.id: each for each in executions.by_ids(db, ids) if each.session_id == session_id}
    for key in ids:
        _require_open_to(found.get(key), key, evidence)
    new = [found[key] for key in dict.fromkeys(ids) if found[key].uncertain]
    if new and expected is not None:
        seen = executions.pending_of(db, session_id)[:SETTLED_AT_ONCE]
        if set_digest(seen) != expected:
            raise StoreError("What is uncertain has changed since it was looked at.", "Look at it again.")
    now = utc_now()
    applied = evidence.observation is Observation.EFFECT_APPLIED
    root = _root(db, session_id) if new and applied else ""
    for each in new:
        if applied and each.readable and not each.changes:
            write_changes(db, each.id, _end_of(db, each.id), intended_changes(each, root))
        db.add(
            ReconciliationRow(
                execution_id=each.id, digest=evidence.digest, created_at=now, **asdict(evidence)
            )
        )
        insert_entry(db, result_entry(each, NOTES[evidence.observation], Origin.PROGRAM, now))
    db.flush()
    return len(new)


def repair(db: Session, session_id: int) -> int:
    """Write again, from their receipts, the results of ended calls that are in no entry; how many.

    Raises ``StoreError`` while an execution of the session is uncertain.
    """
    if executions.pending_of(db, session_id):
        raise StoreError("Some calls of this session are uncertain.", "Settle them first.")
    now = utc_now()
    lost = executions.without_result(db, session_id)
    for each in lost:
        insert_entry(db, result_entry(each, _kept_of(each), Origin.PROGRAM, now))
    return len(lost)


def _kept_of(execution: Execution) -> str:
    """What a lost result said, as far as it is known."""
    if execution.evidence is not None:
        return NOTES[execution.evidence.observation]
    receipt = execution.receipt or Receipt("")
    said = receipt.excerpt or receipt.summary
    known = f"The result of this call was lost. It ended as: {execution.state}."
    return f"{known} It began:\n{said}" if said else known


def _require_open_to(execution: Execution | None, key: str, evidence: Evidence) -> None:
    if execution is None:
        raise StoreError(f"This session has no execution {key}.", "Look which it has.")
    if execution.evidence is not None and execution.evidence != evidence:
        raise StoreError(f"Execution {key} was settled by other evidence.", "What was found stays.")
    if execution.evidence is None and not execution.uncertain:
        raise StoreError(
            f"Execution {key} is not uncertain: it is {execution.state}.", "Nothing is to be done."
        )


def _root(db: Session, session_id: int) -> str:
    query = select(WorkspaceRow.root).join(SessionRow, SessionRow.workspace_id == WorkspaceRow.id)
    return db.scalar(query.where(SessionRow.id == session_id)) or ""


def _end_of(db: Session, execution_id: str) -> int:
    """The number of the event that says that nobody knows how it ended."""
    mine = (
        ExecutionEventRow.execution_id == execution_id,
        ExecutionEventRow.kind == EventKind.OUTCOME_UNKNOWN,
    )
    return db.scalars(select(ExecutionEventRow.number).where(*mine)).first() or 0
