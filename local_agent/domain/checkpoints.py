"""Named places of a session: pointers, which never change."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class CheckpointKind(StrEnum):
    """Who made it, and when."""

    MANUAL = "manual"
    BEFORE_COMPACTION = "before compaction"
    BEFORE_RESTORE = "before restore"


KEPT_BEFORE_COMPACTION = 25
"""Of the ones made before a compaction only the newest stay."""
LABEL_LENGTH = 72


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """One of them. ``id`` is the number that ``/restore`` takes."""

    id: int
    session_id: int
    entry_id: int | None
    """The last entry of the path; None before the first question."""
    ledger_number: int
    """How far the ledger had come: files go back to what they held then."""
    label: str
    kind: CheckpointKind
    message_count: int
    """Questions, commands and replies on the path."""
    created_at: str
    """UTC, ISO 8601."""
