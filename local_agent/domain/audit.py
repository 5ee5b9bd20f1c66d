"""Everything that is stored of one session, as it stood at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from local_agent.domain.checkpoints import Checkpoint
from local_agent.domain.entries import Entry, ErrorRecord, Turn
from local_agent.domain.ledger import Execution, Pending
from local_agent.domain.sessions import SessionInfo


@dataclass(frozen=True, slots=True)
class AuditEvent:
    """One event of the ledger. ``number`` is the ledger's, over all sessions."""

    number: int
    execution_id: str
    kind: str
    detail: Mapping[str, object]
    at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True)
class AuditMove:
    """One move of the head, from one end of a path to another."""

    number: int
    from_entry: int | None
    to_entry: int | None
    cause: str
    turn_id: int | None
    ledger_number: int | None
    """How far the ledger had come; None where that was not noted."""
    at: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True)
class Audit:
    """What a session wrote, on every branch, and the entries of its path that others wrote."""

    session: SessionInfo
    path: tuple[int, ...]
    """The ids of the entries that lead to its head, oldest first."""
    entries: tuple[Entry, ...]
    turns: tuple[Turn, ...]
    executions: tuple[Execution, ...]
    events: tuple[AuditEvent, ...]
    pending: tuple[Pending, ...]
    """Uncertain ones that it wrote, or that its path holds."""
    without_result: tuple[str, ...]
    """Ended calls whose result is in no entry."""
    checkpoints: tuple[Checkpoint, ...]
    """Oldest first."""
    moves: tuple[AuditMove, ...]
    """Oldest first."""
    errors: tuple[ErrorRecord, ...]
    left_out: Mapping[str, int]
    """How many older ones of each kind lie beyond the bounds; kinds of which there are none lack."""
