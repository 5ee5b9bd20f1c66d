"""Rows by id, a fixed number of ids at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy.orm import Session

BATCH = 200

# Always as many marks, so that the statement is compiled once.
MARKS = ", ".join("?" * BATCH)


def batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Parts of ``ids`` that one statement can ask for."""
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]


def rows_of(db: Session, statement: str, ids: Sequence[int]) -> Sequence[Any]:
    """What ``statement``, which has ``MARKS`` in it, finds for one batch of ids."""
    marks = (*ids, *[ids[-1]] * (BATCH - len(ids)))
    return db.connection().exec_driver_sql(statement, marks).all()
