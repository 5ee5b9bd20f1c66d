"""How fast models were in the last turns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from sqlalchemy import Row, func, select
from sqlalchemy.orm import Session

from local_agent.domain.entries import TurnStatus
from local_agent.domain.models import Speed, full_name
from local_agent.store.models import TurnRow

LOOKED_AT = 2_000
"""Turns, the newest of all sessions: what is older says little, and the cost stays the same for ever."""
TURNS = 20
_REAL_LOAD_SECONDS = 0.2
"""A server tells of a few milliseconds when the model was loaded already."""
_LEAST_TOKENS = 5
"""Of a shorter reply the speed is mostly rounding."""

_Measured = Row[str, int | None, float | None, float | None, float | None, str]


def speeds(db: Session) -> Mapping[str, Speed]:
    """The median of each model's last settled turns, by its full name."""
    turn = TurnRow
    columns = (
        turn.model,
        turn.reply_tokens,
        turn.reply_seconds,
        turn.first_token_seconds,
        turn.load_seconds,
        turn.started_at,
    )
    # By the key, not by a limit: of a hundred thousand turns that failed none is to be passed over.
    oldest = select(func.max(turn.id) - LOOKED_AT).scalar_subquery()
    newest = select(*columns).where(turn.id > oldest, turn.status == TurnStatus.SETTLED)
    by_model: dict[str, list[_Measured]] = defaultdict(list)
    for row in db.execute(newest.order_by(turn.id.desc())):
        rows = by_model[full_name(row.model)]
        if len(rows) < TURNS:
            rows.append(row)
    return {model: _speed(rows) for model, rows in by_model.items()}


def _speed(rows: list[_Measured]) -> Speed:
    return Speed(
        turns=len(rows),
        tokens_per_second=_median(_per_second, rows),
        first_token_seconds=_median(_first_token, rows),
        load_seconds=_median(_load, rows),
        last_used=rows[0].started_at,
    )


def _per_second(row: _Measured) -> float | None:
    if not row.reply_seconds or (row.reply_tokens or 0) < _LEAST_TOKENS:
        return None
    return float(row.reply_tokens / row.reply_seconds)


def _first_token(row: _Measured) -> float | None:
    if row.first_token_seconds is None:
        return None
    return max(0.0, float(row.first_token_seconds) - (_load(row) or 0.0))


def _load(row: _Measured) -> float | None:
    return row.load_seconds if (row.load_seconds or 0) >= _REAL_LOAD_SECONDS else None


def _median(measure: Callable[[_Measured], float | None], rows: Iterable[_Measured]) -> float | None:
    found = sorted(value for value in map(measure, rows) if value is not None)
    return (found[(len(found) - 1) // 2] + found[len(found) // 2]) / 2 if found else None
