"""How an execution comes about, goes on event by event, and what the model reads of its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.errors import StoreError
from local_agent.domain.ledger import (
    TERMINAL,
    EventKind,
    Execution,
    Observation,
    Receipt,
    may_follow,
    new_execution_id,
)
from local_agent.domain.tools import Effect, Sizes

_LOOKED_INTO = "The outcome of this call was not known at first. It was looked into since:"
NOTES: Mapping[Observation, str] = {
    # A command that was cut off has often done a part of what it was to do.
    Observation.EFFECT_APPLIED: f"{_LOOKED_INTO} it did take effect, perhaps in part. Its output is lost: "
    "look how things stand before you go on.",
    Observation.EFFECT_NOT_APPLIED: f"{_LOOKED_INTO} it did not take effect.",
    Observation.EFFECT_COMPENSATED: f"{_LOOKED_INTO} it did take effect, and that was undone.",
}
"""What the model is told of a call whose outcome was not known, in place of its result."""
NOT_RUN = "Cancelled: this call was not run."
CUT_OFF = "Cancelled: the program ended while this call ran. It changed nothing."
"""Results of calls that a dead process left open."""

BOUNDS = {"summary": 500, "excerpt": 2_000, "diff": 200_000, "unscanned": 500}
"""Characters of a receipt that are kept."""


class NotAllowed(StoreError):
    """The state machine has no such event there; nothing was written."""

    def __init__(self, execution_id: str, before: EventKind | None, event: EventKind) -> None:
        super().__init__(f"Call {execution_id} is {before or 'unknown'}; that it is {event} can't follow.")


@dataclass(frozen=True, slots=True)
class LedgerEvent:
    """One event of one execution."""

    kind: EventKind
    detail: Mapping[str, object]
    """A JSON object: facts of a start, a receipt of an end."""
    at: str
    """UTC, ISO 8601."""


def bounded(receipt: Receipt, text: str) -> Receipt:
    """A receipt as it is kept, with the beginning of the result's text."""
    kept = replace(receipt, excerpt=receipt.excerpt or text)
    return replace(kept, **{name: getattr(kept, name)[:most] for name, most in BOUNDS.items()})


def receipt_of(detail: Mapping[str, object]) -> Receipt | None:
    """The receipt that a terminal event's detail holds; None when it holds none."""
    match detail:
        case {
            "status": str(status),
            "summary": str(summary),
            "exit_code": int() | None as exit_code,
            "seconds": int() | float() | None as seconds,
            "size": int() | None as size,
            "output": str(output),
            "diff": str(diff),
            "excerpt": str(excerpt),
        }:
            sizes, unscanned = _sizes(detail.get("sizes")), detail.get("unscanned")
            said = unscanned if isinstance(unscanned, str) else ""
            return Receipt(status, summary, exit_code, seconds, size, output, diff, excerpt, sizes, said)
    return None


def _sizes(rows: object) -> tuple[Sizes, ...]:
    """All of them, or none: each belongs to the change at its place."""
    found = []
    for row in rows if isinstance(rows, list | tuple) else ():
        match row:
            case [int() | None as before, int() | None as after, bool(kept)]:
                found.append(Sizes(before, after, kept))
            case _:
                return ()
    return tuple(found)


def advanced(execution: Execution, event: LedgerEvent) -> Execution:
    """The execution after one more event, whatever may follow by the rules."""
    match event.kind:
        case EventKind.REQUESTED:
            return replace(execution, requested_at=event.at)
        case EventKind.JOB_ENDED:
            return replace(execution, facts={**execution.facts, "job_ended": event.detail})
        case kind if kind in TERMINAL:
            return replace(execution, state=kind, receipt=receipt_of(event.detail), ended_at=event.at)
        case kind:
            started_at = event.at if kind is EventKind.STARTED else execution.started_at
            facts = {**execution.facts, **event.detail}
            return replace(execution, state=kind, facts=facts, started_at=started_at)


def require_allowed(execution: Execution, event: EventKind) -> None:
    """Raise ``NotAllowed`` unless ``event`` may be the execution's next."""
    newest = EventKind.JOB_ENDED if "job_ended" in execution.facts else execution.state
    if not may_follow(newest, event):
        raise NotAllowed(execution.id, newest, event)


def new_executions(
    entry: Entry, effects: Sequence[Effect], ids: Sequence[str] = (), at: str = ""
) -> tuple[Execution, ...]:
    """An execution for each call of an entry, requested; ``ids`` where they have been given already."""
    origin = Origin.PERSON if entry.kind is Kind.COMMAND else Origin.MODEL
    return tuple(
        Execution(
            id=ids[number] if number < len(ids) else new_execution_id(),
            session_id=entry.session_id,
            turn_id=entry.turn_id or 0,
            entry_id=entry.id,
            call_number=number,
            tool=call.name,
            arguments=call.arguments,
            effect=effects[number] if number < len(effects) else Effect.UNKNOWN,
            origin=origin,
            recovered=call.recovered,
            requested_at=at or entry.created_at,
        )
        for number, call in enumerate(entry.calls)
    )


def result_entry(execution: Execution, text: str, origin: Origin, at: str) -> Entry:
    """A result as a leaf under the entry that holds its call; its id is given where it is stored."""
    return Entry(
        id=0,
        session_id=execution.session_id,
        turn_id=execution.turn_id or None,
        parent=execution.entry_id,
        kind=Kind.RESULT,
        origin=origin,
        text=text,
        call_number=execution.call_number,
        created_at=at,
    )
