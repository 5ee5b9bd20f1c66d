"""What a path and an entry measure: messages on it, and how far the ledger had come at it."""

from __future__ import annotations

from sqlalchemy import func, select, text
from sqlalchemy.orm import Session

from local_agent.domain.entries import Kind
from local_agent.domain.ledger import TERMINAL
from local_agent.store import entries
from local_agent.store.models import EntryRow, ExecutionEventRow, ExecutionRow, HeadMoveRow
from local_agent.store.salvage import or_without

_PATH = """
    WITH RECURSIVE path (id, parent, kind) AS (
        SELECT id, parent, kind FROM entries INDEXED BY entries_path WHERE id = :leaf
        UNION ALL
        SELECT e.id, e.parent, e.kind
        FROM path JOIN entries AS e INDEXED BY entries_path ON e.id = path.parent
        WHERE e.id < path.id
    )
"""
ASKED = frozenset({Kind.QUESTION, Kind.COMMAND})
COUNTED = ASKED | {Kind.ASSISTANT}


def messages(db: Session, leaf: int | None) -> int:
    """Questions, commands and replies on the path to ``leaf``: as noted by a move to it, or counted."""
    if leaf is None:
        return 0
    noted = select(HeadMoveRow.messages)
    noted = noted.where(HeadMoveRow.to_entry == leaf, HeadMoveRow.messages.is_not(None))
    found = db.scalar(noted.limit(1))
    if found is not None:
        return found
    return _count(db, leaf, COUNTED)


def turns(db: Session, leaf: int) -> int:
    """Questions and commands on the path to ``leaf``; reads all of it, on an index."""
    return _count(db, leaf, ASKED)


def _count(db: Session, leaf: int, kinds: frozenset[Kind]) -> int:
    listed = ", ".join(f"'{kind}'" for kind in sorted(kinds))
    query = text(f"{_PATH} SELECT count(*) FROM path WHERE kind IN ({listed})")
    found: int | None = or_without(lambda: db.scalar(query, {"leaf": leaf}), None)
    return sum(node.kind in kinds for node in entries.walk(db, leaf)) if found is None else found


def ledger_number_at(db: Session, entry_id: int, session_id: int) -> int | None:
    """How far the ledger had come when an entry of ``session_id`` and what it called were done; None where
    that was not noted.
    """
    made = select(HeadMoveRow.ledger_number).where(
        HeadMoveRow.to_entry == entry_id, HeadMoveRow.session_id == session_id
    )
    noted = db.scalar(made.order_by(HeadMoveRow.number).limit(1))
    if noted is None:
        return None
    ended = select(func.max(ExecutionEventRow.number)).join(
        ExecutionRow, ExecutionRow.id == ExecutionEventRow.execution_id
    )
    ended = ended.where(ExecutionRow.entry_id == entry_id, ExecutionEventRow.kind.in_(TERMINAL))
    return max(noted, db.scalar(ended) or 0)


def begins_branch(
    db: Session, session_id: int, parent: int | None, entry_id: int, origin: int | None
) -> bool:
    """Whether an entry that was just put behind ``parent`` leaves another end of the session's tree behind.

    ``origin`` is the entry that the session was forked from.
    """
    nodes = EntryRow.id < entry_id, EntryRow.kind.in_(_NODES)
    if parent is None:
        own = select(EntryRow.id).where(EntryRow.session_id == session_id, *nodes).limit(1)
        return origin is not None or db.scalar(own) is not None
    # The sum keeps SQLite from looking through the whole session for it.
    mine = EntryRow.session_id.op("+")(0) == session_id
    if db.scalar(select(EntryRow.id).where(EntryRow.parent == parent, mine, *nodes).limit(1)) is not None:
        return True
    writer = db.scalar(select(EntryRow.session_id).where(EntryRow.id == parent))
    return writer != session_id and parent != origin


_NODES = sorted(set(Kind) - {Kind.RESULT})
