"""What a list of sessions warns of, counted beside each row."""

from __future__ import annotations

from sqlalchemy import ScalarSelect, func, select

from local_agent.domain.entries import TurnStatus
from local_agent.domain.ledger import TERMINAL, EventKind
from local_agent.domain.tools import Effect
from local_agent.store.executions import UNSETTLED
from local_agent.store.models import ErrorRow, ExecutionEventRow, ExecutionRow, SessionRow, TurnRow

_of_execution = ExecutionEventRow.execution_id == ExecutionRow.id

ERRORS: ScalarSelect[int] = (
    select(func.count())
    .select_from(ErrorRow)
    .where(ErrorRow.session_id == SessionRow.id)
    .correlate(SessionRow)
    .scalar_subquery()
)
UNCERTAIN: ScalarSelect[int] = (
    select(func.count())
    .select_from(ExecutionEventRow)
    .where(ExecutionEventRow.session_id == SessionRow.id, *UNSETTLED)
    .correlate(SessionRow)
    .scalar_subquery()
)
LEFT_OPEN: ScalarSelect[int] = (
    select(func.count())
    .select_from(TurnRow)
    .join(ExecutionRow, ExecutionRow.turn_id == TurnRow.id)
    .where(
        TurnRow.session_id == SessionRow.id,
        TurnRow.status == TurnStatus.RUNNING,
        ExecutionRow.effect != Effect.READ_ONLY,
        select(ExecutionEventRow.number)
        .where(_of_execution, ExecutionEventRow.kind == EventKind.STARTED)
        .exists(),
        ~select(ExecutionEventRow.number).where(_of_execution, ExecutionEventRow.kind.in_(TERMINAL)).exists(),
    )
    .correlate(SessionRow)
    .scalar_subquery()
)
"""Calls that run, or whose process has died: then they are uncertain, though nobody has written that yet."""
