"""Moves of a head as two persistent stacks: what can be undone, and what of that can be done again.

A *step* is what one undo takes back: all moves of a turn that follow each other, or any other move.
``step`` is the first move of it, in an undo or a redo that of the step that it takes back or does again.
On the undo stack lies every step that is not undone, ``undo_below`` is what lies below a move on it. Right
after a step, or a redo, that is the top; an undo makes the top what lay below, puts itself on top of the redo
stack, and a redo takes it off there. Anything else empties that stack. 0 says that there is nothing; every
look and every move takes the same few statements however long the session is.
"""

from __future__ import annotations

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from local_agent.domain.moves import Cause
from local_agent.store import measures
from local_agent.store.models import ExecutionEventRow, HeadMoveRow, SessionRow


def newest(db: Session, session_id: int, below: int | None = None) -> HeadMoveRow | None:
    """The session's newest move, or the newest with a number less than ``below``."""
    mine = select(HeadMoveRow).where(HeadMoveRow.session_id == session_id)
    if below is not None:
        mine = mine.where(HeadMoveRow.number < below)
    return db.scalars(mine.order_by(HeadMoveRow.number.desc()).limit(1)).one_or_none()


def numbered(db: Session, session_id: int, number: int) -> HeadMoveRow | None:
    """One move of a session."""
    return db.get(HeadMoveRow, (session_id, number))


def undo_top(move: HeadMoveRow | None) -> int:
    """The move that an undo begins with, when ``move`` is the newest."""
    if move is None:
        return 0
    return move.undo_below or 0 if move.cause == Cause.UNDO else move.number


def redo_top(move: HeadMoveRow | None) -> int:
    """The undo that a redo takes back, when ``move`` is the newest."""
    if move is None:
        return 0
    if move.cause == Cause.UNDO:
        return move.number
    return move.redo_below or 0 if move.cause == Cause.REDO else 0


def first_of(db: Session, move: HeadMoveRow) -> HeadMoveRow:
    """The first move that an undo of ``move`` takes back with it."""
    if move.cause != Cause.TURN or move.step == move.number:
        return move
    if move.step is not None:
        return numbered(db, move.session_id, move.step) or move
    before = select(HeadMoveRow).where(
        HeadMoveRow.session_id == move.session_id, HeadMoveRow.number < move.number
    )
    first = move
    for each in db.scalars(before.order_by(HeadMoveRow.number.desc()).execution_options(yield_per=20)):
        if not _goes_on(each, move.turn_id):
            break
        first = each
    return first


def step_of(db: Session, move: HeadMoveRow) -> HeadMoveRow:
    """What is taken back with ``move``, as it was made for the first time."""
    if move.cause in (Cause.UNDO, Cause.REDO) and move.step is not None:
        return numbered(db, move.session_id, move.step) or move
    return first_of(db, move)


def below(db: Session, move: HeadMoveRow) -> int:
    """What lies below a move on the undo stack."""
    if move.undo_below is not None:
        return move.undo_below
    # Before there was undo every move followed the one before it.
    before = newest(db, move.session_id, first_of(db, move).number)
    return before.number if before is not None else 0


def ledger_number(db: Session) -> int:
    """How far the ledger has come."""
    return db.scalar(select(func.max(ExecutionEventRow.number))) or 0


def record(
    db: Session,
    session: SessionRow,
    to: int | None,
    cause: Cause,
    at: str,
    *,
    messages: int | None = None,
    turn_id: int | None = None,
    undone: int = 0,
    files_as_at: int | None = None,
) -> HeadMoveRow:
    """Move the head of a session. ``undone`` is as a ``Landing`` has it; ``messages`` those on the path to
    ``to`` where that is known. ``files_as_at``: the ledger number to which files go back with it, where they
    were not what they are now.
    """
    last = newest(db, session.id)
    row = HeadMoveRow(
        session_id=session.id,
        number=last.number + 1 if last is not None else 1,
        from_entry=session.head,
        to_entry=to,
        cause=cause,
        turn_id=turn_id,
        created_at=at,
        ledger_number=ledger_number(db) if files_as_at is None else files_as_at,
        messages=measures.messages(db, to) if messages is None else messages,
    )
    _place(db, row, last, undone)
    db.add(row)
    session.head = to
    db.flush()
    return row


def _place(db: Session, row: HeadMoveRow, last: HeadMoveRow | None, undone: int) -> None:
    """Put a move on the stacks as ``last`` left them."""
    other = numbered(db, row.session_id, undone) if undone else None
    row.redo_below = 0
    if other is None:
        goes_on = last is not None and row.cause == Cause.TURN and _goes_on(last, row.turn_id)
        row.step = first_of(db, last).number if goes_on and last is not None else row.number
        row.undo_below = below(db, last) if goes_on and last is not None else undo_top(last)
        return
    row.step = step_of(db, other).number
    row.undo_below = below(db, other)
    row.redo_below = redo_top(last) if row.cause == Cause.UNDO else other.redo_below or 0


def _goes_on(move: HeadMoveRow, turn_id: int | None) -> bool:
    return move.cause == Cause.TURN and move.turn_id is not None and move.turn_id == turn_id
