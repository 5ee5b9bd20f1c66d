"""Reads everything that is stored of one session in one transaction."""

from __future__ import annotations

from functools import partial

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from local_agent.domain.audit import Audit, AuditEvent, AuditMove
from local_agent.domain.entries import Kind, Turn
from local_agent.store import checkpoints, entries, error_trail, executions, sessions, turns
from local_agent.store.batches import batches
from local_agent.store.entries import Node
from local_agent.store.models import EntryRow, ExecutionEventRow, HeadMoveRow, TurnRow
from local_agent.store.salvage import or_without


def of_session(db: Session, handle: str, most: int) -> Audit:
    """The newest ``most`` entries and events; what can't be read is left out. Raises ``UnknownSession``."""
    info = sessions.by_handle(db, handle)
    path = entries.walk(db, info.head, limit=most)
    own, entry_count = _own_nodes(db, info.id, most)
    nodes = {node.id: node for node in (*own, *entries.with_results(db, path))}
    found = [nodes[key] for key in sorted(nodes)]
    seen = {node.turn_id for node in found if node.turn_id is not None}
    events, event_count = _events(db, info.id, most)
    moves, move_count = _moves(db, info.id, most)
    left_out = {
        "entry": entry_count - len(own),
        "execution_event": event_count - len(events),
        "head_move": move_count - len(moves),
    }
    return Audit(
        session=info,
        path=tuple(node.id for node in reversed(path)),
        entries=tuple(entries.read(db, found, info.id)),
        turns=tuple(_turns(db, info.id, seen)),
        executions=tuple(executions.of_session(db, info.id)),
        events=events,
        pending=tuple(executions.pending(db, info.id, info.head)),
        without_result=tuple(each.id for each in executions.without_result(db, info.id)),
        checkpoints=tuple(reversed(or_without(lambda: checkpoints.page(db, info.id, None, most), []))),
        moves=moves,
        errors=tuple(or_without(lambda: error_trail.of_session(db, info.id), [])),
        left_out={kind: count for kind, count in left_out.items() if count > 0},
    )


def _own_nodes(db: Session, session_id: int, most: int) -> tuple[list[Node], int]:
    """The newest entries that the session wrote, and how many it wrote."""
    mine = EntryRow.session_id == session_id
    columns = select(EntryRow.id, EntryRow.parent, EntryRow.kind, EntryRow.turn_id)
    kinds = {str(kind): kind for kind in Kind}
    newest = columns.where(mine).order_by(EntryRow.id.desc()).limit(most)
    rows = or_without(lambda: db.execute(newest).all(), ())
    count = or_without(lambda: db.scalar(select(func.count()).select_from(EntryRow).where(mine)), None)
    nodes = [Node(key, parent, kinds.get(kind, Kind.MARKER), turn) for key, parent, kind, turn in rows]
    return nodes, count or len(nodes)


def _turns(db: Session, session_id: int, seen: set[int]) -> list[Turn]:
    """Those that the session ran, and those of the entries that were found."""
    own = select(TurnRow.id).where(TurnRow.session_id == session_id)
    ids = sorted(seen | set(or_without(lambda: db.scalars(own).all(), ())))
    found: dict[int, Turn] = {}
    for some in batches(ids):
        found |= or_without(partial(turns.by_ids, db, list(some)), {})
    return [found[key] for key in sorted(found)]


def _events(db: Session, session_id: int, most: int) -> tuple[tuple[AuditEvent, ...], int]:
    """The newest events, oldest of them first, and how many there are."""
    mine = ExecutionEventRow.session_id == session_id
    newest = select(ExecutionEventRow).where(mine).order_by(ExecutionEventRow.number.desc()).limit(most)
    rows = or_without(lambda: db.scalars(newest).all(), ())
    count = or_without(
        lambda: db.scalar(select(func.count()).select_from(ExecutionEventRow).where(mine)), None
    )
    found = []
    for row in reversed(rows):
        event = executions.event_of(row)
        kind, detail = (event.kind, event.detail) if event is not None else (row.kind, {})
        found.append(AuditEvent(row.number, row.execution_id, kind, detail, row.created_at))
    return tuple(found), count or len(found)


def _moves(db: Session, session_id: int, most: int) -> tuple[tuple[AuditMove, ...], int]:
    """The newest moves of the head, oldest of them first, and how many there are."""
    mine = HeadMoveRow.session_id == session_id
    newest = select(HeadMoveRow).where(mine).order_by(HeadMoveRow.number.desc()).limit(most)
    rows = or_without(lambda: db.scalars(newest).all(), ())
    count = or_without(lambda: db.scalar(select(func.count()).select_from(HeadMoveRow).where(mine)), None)
    found = tuple(
        AuditMove(
            number=row.number,
            from_entry=row.from_entry,
            to_entry=row.to_entry,
            cause=row.cause,
            turn_id=row.turn_id,
            ledger_number=row.ledger_number,
            at=row.created_at,
        )
        for row in reversed(rows)
    )
    return found, count or len(found)
