"""From a question to its settled answer: what each step writes, inside the caller's transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict

from sqlalchemy import delete, func, select
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, EntryStatus, Kind, Origin, Turn, TurnStatus, Usage
from local_agent.domain.ledger import Execution
from local_agent.domain.moves import Cause
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.tools import Effect
from local_agent.store import error_trail, head, ledger
from local_agent.store.clock import utc_now
from local_agent.store.entries import Node, insert_entry, read
from local_agent.store.models import EntryRow, OpenReplyRow, PromptTextRow, SessionRow, TurnRow
from local_agent.store.stored_text import calls_or_none, calls_to_json

_USAGE = (
    "prompt_tokens",
    "reply_tokens",
    "load_seconds",
    "prompt_seconds",
    "reply_seconds",
    "first_token_seconds",
)
_STATUSES = frozenset(TurnStatus)


def begin(db: Session, session_id: int, handle: str, opening: Opening) -> OpenTurn:
    """Write the turn and its question, and move the head to the question.

    A turn of the session that was never settled, because that could not be written, is settled first.
    """
    recover(db, session_id)
    now = opening.asked_at or utc_now()
    row = TurnRow(
        session_id=session_id,
        status=TurnStatus.RUNNING,
        model=opening.model,
        model_digest=opening.model_digest,
        prompt_digest=_keep_prompt(db, opening.system_prompt),
        started_at=now,
    )
    db.add(row)
    db.flush()
    question = insert_entry(
        db,
        Entry(
            id=0,
            session_id=session_id,
            turn_id=row.id,
            parent=opening.parent,
            kind=Kind.COMMAND if opening.command is not None else Kind.QUESTION,
            origin=opening.origin,
            text=opening.text,
            context=opening.context,
            calls=(opening.command,) if opening.command is not None else (),
            pictures=opening.pictures,
            created_at=now,
        ),
    )
    head.move(db, question)
    if opening.command is not None:
        ledger.request(db, question, (Effect.UNKNOWN,), (opening.execution_id,))
    db.get_one(SessionRow, session_id).turn_count += 1
    return OpenTurn(row.id, session_id, handle, question)


def keep(db: Session, turn: OpenTurn, reply: Reply, token: str) -> None:
    """Replace the open row by the reply as far as it has come."""
    values = {
        "session_id": turn.session_id,
        "turn_id": turn.id,
        "parent": _newest(db, turn),
        "text": reply.text,
        "thinking": reply.thinking,
        "calls": calls_to_json(reply.calls),
        "token": token,
        "updated_at": utc_now(),
    }
    row = upsert(OpenReplyRow).values(**values)
    db.execute(row.on_conflict_do_update(index_elements=["session_id"], set_=dict(row.excluded)))


def record(
    db: Session,
    turn: OpenTurn,
    reply: Reply,
    effects: Sequence[Effect],
    ids: Sequence[str] = (),
    at: str = "",
) -> tuple[Entry, tuple[Execution, ...]]:
    """Write a whole reply that asks for tools, and what it asks for; ``ids`` of executions known already."""
    place = turn.session_id, turn.id, _newest(db, turn)
    entry = _insert_reply(db, *place, reply, EntryStatus.SETTLED, at or utc_now())
    db.execute(delete(OpenReplyRow).where(OpenReplyRow.session_id == turn.session_id))
    return entry, ledger.request(db, entry, effects, ids)


def settle(db: Session, turn: OpenTurn, outcome: Outcome) -> Entry | None:
    """Write the turn's end and, of a reply that is not empty, its entry. Settling twice changes nothing."""
    row = db.get_one(TurnRow, turn.id)
    if row.status != TurnStatus.RUNNING:
        return _reply_of(db, turn.id)
    entry = None
    now = outcome.ended_at or utc_now()
    if not outcome.reply.empty:
        place = turn.session_id, turn.id, _newest(db, turn)
        entry = _insert_reply(db, *place, outcome.reply, outcome.entry_status, now)
    ledger.close(db, turn.session_id, [turn.id], now)
    _close_turn(row, outcome.status, outcome.stop_reason, outcome.usage, now)
    db.execute(delete(OpenReplyRow).where(OpenReplyRow.session_id == turn.session_id))
    if outcome.error is not None:
        error_trail.add(db, turn.session_id, turn.id, outcome.error)
    db.get_one(SessionRow, turn.session_id).last_activity = now
    db.flush()
    return entry


def recover(db: Session, session_id: int) -> Turn | None:
    """Settle what a dead process left behind: the open reply becomes an interrupted entry, open calls end.

    Returns the turn that it died in.
    """
    now = utc_now()
    left = db.get(OpenReplyRow, session_id)
    if left is not None:
        place = session_id, left.turn_id, left.parent
        _insert_reply(db, *place, _reply(left), EntryStatus.INTERRUPTED, now)
        db.delete(left)
    running = TurnRow.session_id == session_id, TurnRow.status == TurnStatus.RUNNING
    found = list(db.scalars(select(TurnRow).where(*running).order_by(TurnRow.id)))
    ledger.close(db, session_id, [row.id for row in found], now)
    for row in found:
        _close_turn(row, TurnStatus.INTERRUPTED, "process ended", Usage(), now)
    db.flush()
    return _turn(found[-1]) if found else None


def mark(db: Session, session_id: int, parent: int | None, text: str) -> Entry:
    """Write a marker behind ``parent`` and move the head to it."""
    marker = Entry(
        id=0,
        session_id=session_id,
        turn_id=None,
        parent=parent,
        kind=Kind.MARKER,
        origin=Origin.PROGRAM,
        text=text,
        created_at=utc_now(),
    )
    entry = insert_entry(db, marker)
    head.move(db, entry, Cause.MARKER)
    return entry


def open_reply(db: Session, session_id: int) -> Reply | None:
    row = db.get(OpenReplyRow, session_id)
    return _reply(row) if row is not None else None


def by_ids(db: Session, ids: list[int]) -> dict[int, Turn]:
    if not ids:
        return {}
    rows = db.scalars(select(TurnRow).where(TurnRow.id.in_(ids)))
    return {row.id: _turn(row) for row in rows if row.status in _STATUSES}


def _turn(row: TurnRow) -> Turn:
    return Turn(
        id=row.id,
        session_id=row.session_id,
        status=TurnStatus(row.status),
        stop_reason=row.stop_reason,
        model=row.model,
        usage=Usage(**{name: getattr(row, name) for name in _USAGE}),
        started_at=row.started_at,
        ended_at=row.ended_at,
    )


def _reply(row: OpenReplyRow) -> Reply:
    return Reply(row.text, row.thinking, calls_or_none(row.calls))


def _newest(db: Session, turn: OpenTurn) -> int:
    """What of the turn the next reply follows: its newest recorded one, or its question."""
    mine = EntryRow.turn_id == turn.id, EntryRow.kind == Kind.ASSISTANT
    return db.scalar(select(func.max(EntryRow.id)).where(*mine)) or turn.question.id


def _reply_of(db: Session, turn_id: int) -> Entry | None:
    columns = select(EntryRow.id, EntryRow.parent, EntryRow.session_id)
    mine = EntryRow.turn_id == turn_id, EntryRow.kind == Kind.ASSISTANT
    row = db.execute(columns.where(*mine).order_by(EntryRow.id.desc()).limit(1)).one_or_none()
    if row is None:
        return None
    return read(db, [Node(row.id, row.parent, Kind.ASSISTANT, turn_id)], row.session_id)[0]


def _insert_reply(
    db: Session, session_id: int, turn_id: int, parent: int, reply: Reply, status: EntryStatus, now: str
) -> Entry:
    entry = insert_entry(
        db,
        Entry(
            id=0,
            session_id=session_id,
            turn_id=turn_id,
            parent=parent,
            kind=Kind.ASSISTANT,
            origin=Origin.MODEL,
            text=reply.text,
            thinking=reply.thinking,
            calls=reply.calls,
            status=status,
            created_at=now,
        ),
    )
    head.move(db, entry)
    return entry


def _close_turn(
    row: TurnRow, status: TurnStatus, stop_reason: str | None, usage: Usage, ended_at: str
) -> None:
    row.status = status
    row.stop_reason = stop_reason
    row.ended_at = ended_at
    for name, value in asdict(usage).items():
        setattr(row, name, value)


def _keep_prompt(db: Session, text: str) -> str | None:
    if not text:
        return None
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    db.execute(upsert(PromptTextRow).values(digest=digest, text=text).on_conflict_do_nothing())
    return digest
