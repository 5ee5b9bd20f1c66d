"""The ledger as it is read: calls, with what their events, findings and file changes say of them.

Whatever stands in the tables, what can be read of it comes back; ``Execution.readable`` says whether it
is what the program wrote. Every function takes the same number of statements however many calls it finds.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy import ColumnElement, literal_column, select
from sqlalchemy.orm import InstrumentedAttribute, Session

from local_agent.domain.entries import Entry, Kind, Origin, ToolCall
from local_agent.domain.executions import LedgerEvent, advanced
from local_agent.domain.ledger import (
    EventKind,
    Evidence,
    Execution,
    Observation,
    Pending,
    Source,
    digest_of,
    digest_of_text,
    may_follow,
)
from local_agent.domain.tools import Effect, FileChange
from local_agent.store import entries
from local_agent.store.models import (
    EntryRow,
    ExecutionEventRow,
    ExecutionRow,
    FileChangeRow,
    ReconciliationRow,
    SessionRow,
    WorkspaceRow,
)
from local_agent.store.salvage import or_without
from local_agent.store.stored_text import calls_or_none

T = TypeVar("T")
Calls = Mapping[int, tuple[ToolCall, ...]]

_EFFECTS = {str(effect): effect for effect in Effect}
_ORIGINS = {str(origin): origin for origin in Origin}
_KINDS = {str(kind): kind for kind in EventKind}
_OBSERVATIONS = {str(each): each for each in Observation}
_SOURCES = {str(each): each for each in Source}

UNSETTLED = (
    # Written out, so that SQLite can see that the partial index holds all of these.
    ExecutionEventRow.kind == literal_column(f"'{EventKind.OUTCOME_UNKNOWN}'"),
    ~select(ReconciliationRow.execution_id)
    .where(ReconciliationRow.execution_id == ExecutionEventRow.execution_id)
    .exists(),
)
"""Chooses the events that tell of calls whose outcome nobody knows."""


def of_entries(db: Session, found: Sequence[Entry]) -> dict[tuple[int, int], Execution]:
    """The executions of the calls that these entries hold, by entry and call number."""
    calls = {entry.id: entry.calls for entry in found if entry.calls or not entry.readable}
    if not calls:
        return {}
    read = _read(db, ExecutionRow.entry_id.in_(list(calls)), calls)
    return {(each.entry_id, each.call_number): each for each in read}


def of_session(db: Session, session_id: int) -> list[Execution]:
    """Those that a session wrote, oldest first."""
    return _read(db, ExecutionRow.session_id == session_id)


def of_turns(db: Session, turn_ids: Sequence[int]) -> list[Execution]:
    """Those of some turns, oldest first."""
    return _read(db, ExecutionRow.turn_id.in_(turn_ids)) if turn_ids else []


def of_entry(db: Session, entry_id: int) -> list[Execution]:
    """Those of one entry, in call order."""
    return _read(db, ExecutionRow.entry_id == entry_id)


def by_ids(db: Session, ids: Sequence[str]) -> list[Execution]:
    """Those of them that there are, oldest first."""
    return _read(db, ExecutionRow.id.in_(ids)) if ids else []


def without_result(db: Session, session_id: int) -> list[Execution]:
    """Ended calls of a session whose result is in no entry, oldest first; uncertain ones are none."""
    leaf = select(EntryRow.id).where(
        EntryRow.parent == ExecutionRow.entry_id,
        EntryRow.kind == Kind.RESULT,
        EntryRow.call_number == ExecutionRow.call_number,
    )
    leaf = leaf.correlate(ExecutionRow)
    found = _read(db, (ExecutionRow.session_id == session_id) & ~leaf.exists())
    return [each for each in found if each.ended and not each.uncertain and each.entry_id]


def pending_of(db: Session, session_id: int) -> list[Pending]:
    """The uncertain executions that a session wrote, oldest first, on whatever branch they are."""
    return _named(db, _uncertain(db, ExecutionEventRow.session_id == session_id))


def pending(db: Session, session_id: int | None, leaf: int | None) -> list[Pending]:
    """The uncertain executions that a session wrote, and those whose calls are on the path to ``leaf``."""
    found = _uncertain(db)
    others = [each.entry_id for each in found if each.session_id != session_id]
    path = {node.id for node in entries.walk(db, leaf, floor=min(others))} if others else set()
    return _named(db, [each for each in found if each.session_id == session_id or each.entry_id in path])


def _uncertain(db: Session, where: ColumnElement[bool] | None = None) -> list[Execution]:
    query = select(ExecutionEventRow.execution_id).where(*UNSETTLED)
    ids = _all(lambda: db.scalars(query if where is None else query.where(where)))
    return [each for each in by_ids(db, ids) if each.uncertain]


def _named(db: Session, found: Sequence[Execution]) -> list[Pending]:
    if not found:
        return []
    query = select(SessionRow.id, SessionRow.handle, WorkspaceRow.root)
    query = query.outerjoin(WorkspaceRow, WorkspaceRow.id == SessionRow.workspace_id)
    rows = db.execute(query.where(SessionRow.id.in_({each.session_id for each in found}))).all()
    names = {key: (handle, root or "") for key, handle, root in rows}
    return [Pending(each, *names.get(each.session_id, ("", ""))) for each in found]


def _read(db: Session, where: ColumnElement[bool], calls: Calls | None = None) -> list[Execution]:
    rows = sorted(_all(lambda: db.scalars(select(ExecutionRow).where(where))), key=lambda row: row.number)
    if not rows:
        return []

    def beside(table: type[T], key: InstrumentedAttribute[str]) -> Sequence[T]:
        return _all(lambda: db.scalars(select(table).join(ExecutionRow, ExecutionRow.id == key).where(where)))

    events = _grouped(beside(ExecutionEventRow, ExecutionEventRow.execution_id), lambda row: row.number)
    changes = _grouped(
        beside(FileChangeRow, FileChangeRow.execution_id), lambda row: (row.event_number, row.place)
    )
    findings = _grouped(beside(ReconciliationRow, ReconciliationRow.execution_id), lambda row: row.digest)
    if calls is None:
        calls = _calls(db, where)
    return [
        folded(
            row,
            calls.get(row.entry_id, ()),
            changes.get(row.id, ()),
            findings.get(row.id, ()),
            events.get(row.id, ()),
        )
        for row in rows
    ]


def _all(look: Callable[[], Iterable[T]]) -> Sequence[T]:
    """What is read, or nothing where it lies on a damaged page."""
    return or_without(lambda: list(look()), [])


def _grouped(rows: Iterable[T], order: Callable[[T], object]) -> dict[str, list[T]]:
    found: dict[str, list[T]] = {}
    for row in sorted(rows, key=order):  # type: ignore[arg-type]  # numbers and texts of one table
        found.setdefault(row.execution_id, []).append(row)  # type: ignore[attr-defined]  # all three have it
    return found


def _calls(db: Session, where: ColumnElement[bool]) -> Calls:
    query = select(EntryRow.id, EntryRow.calls)
    query = query.where(EntryRow.id.in_(select(ExecutionRow.entry_id).where(where)))
    return {key: calls_or_none(text) for key, text in _all(lambda: db.execute(query).all())}


def folded(
    row: ExecutionRow,
    calls: Sequence[ToolCall],
    changes: Sequence[FileChangeRow],
    findings: Sequence[ReconciliationRow],
    events: Sequence[ExecutionEventRow],
) -> Execution:
    """The execution that rows tell of; ``calls`` are those of its entry, ``events`` oldest first."""
    return _folded(_bare(row, calls, changes, findings), events)


def _bare(
    row: ExecutionRow,
    calls: Sequence[ToolCall],
    changes: Sequence[FileChangeRow],
    findings: Sequence[ReconciliationRow],
) -> Execution:
    """The execution before its first event."""
    call = calls[row.call_number] if 0 <= row.call_number < len(calls) else None
    # What no entry asks for has its arguments in the facts of its start.
    arguments = call.arguments if call is not None else {}
    asked = call is not None or not row.entry_id
    evidence, whole = next((_evidence(each) for each in findings), (None, True))
    known = row.effect in _EFFECTS and row.origin in _ORIGINS
    return Execution(
        id=row.id,
        session_id=row.session_id,
        turn_id=row.turn_id,
        entry_id=row.entry_id,
        call_number=row.call_number,
        tool=row.tool,
        arguments=arguments,
        effect=_EFFECTS.get(row.effect, Effect.UNKNOWN),
        origin=_ORIGINS.get(row.origin, Origin.MODEL),
        recovered=row.recovered,
        changes=tuple(change_of(each) for each in changes),
        evidence=evidence,
        readable=whole and known and asked and digest_of(arguments) == row.arguments_digest,
    )


def _folded(execution: Execution, events: Sequence[ExecutionEventRow]) -> Execution:
    before: EventKind | None = None
    for row in events:
        event = event_of(row)
        if event is None:
            execution = replace(execution, readable=False)
            continue
        fits = may_follow(before, event.kind) and digest_of_text(row.detail) == row.digest
        execution = advanced(replace(execution, readable=execution.readable and fits), event)
        before = event.kind
    whole = before is not None and (not execution.ended or execution.receipt is not None)
    if not execution.entry_id:
        execution = replace(execution, arguments={"to": execution.facts.get("what", "")})
    return replace(execution, readable=execution.readable and whole)


def change_of(row: FileChangeRow) -> FileChange:
    """The change that a row holds."""
    return FileChange(
        row.path, row.kind, row.before_digest, row.after_digest, row.mode_before, row.mode_after
    )


def event_of(row: ExecutionEventRow) -> LedgerEvent | None:
    """The event that a row holds; None for a kind that there is none of."""
    kind = _KINDS.get(row.kind)
    if kind is None:
        return None
    try:
        detail = json.loads(row.detail)
    except (ValueError, RecursionError):
        detail = None
    return LedgerEvent(kind, detail if isinstance(detail, dict) else {}, row.created_at)


def _evidence(row: ReconciliationRow) -> tuple[Evidence, bool]:
    """What was found, and whether that is what was written. A call with a finding is settled in any case."""
    observation = _OBSERVATIONS.get(row.observation, Observation.EFFECT_APPLIED)
    source = _SOURCES.get(row.source, Source.OPERATOR_OBSERVATION)
    found = Evidence(observation, source, row.reference, row.summary, row.observed_at)
    return found, found.digest == row.digest and row.observation in _OBSERVATIONS and row.source in _SOURCES
