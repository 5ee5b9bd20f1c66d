"""Which rows of which tables a bundle holds, and what may stand in them: read off the tables themselves."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import isfinite

from sqlalchemy import Column, Table

from local_agent.domain.bundles import Row
from local_agent.domain.checkpoints import CheckpointKind
from local_agent.domain.entries import EntryStatus, Kind, Origin, TurnStatus
from local_agent.domain.ledger import EventKind, Observation, Source
from local_agent.domain.marks import mark_said, mark_text
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Cause
from local_agent.domain.summaries import read_note
from local_agent.domain.tools import FOLDER, UNKNOWN, Effect
from local_agent.store import time_models  # noqa: F401 - its tables are among ``Base``'s
from local_agent.store.models import Base
from local_agent.store.stored_text import StoredText

LEFT_OUT: Mapping[str, str] = {
    "workspaces": "an imported session belongs to the folder that it is imported in",
    "leases": "which process holds a session is true of one machine and moment",
    "open_replies": "a reply that streams is not settled",
    "schema_migrations": "of the database, not of a session",
    "alembic_version": "of the database, not of a session",
    "sqlite_sequence": "of the database, not of a session",
    "entry_terms": "the index of words is made anew from the entries",
    "entry_term_counts": "the index of words is made anew from the entries",
}
"""Tables that are in no bundle, and why."""

NUMBERED = {"turns": "id", "entries": "id", "executions": "number", "execution_events": "number"}
"""Tables whose rows others name by their place, and the column that counts them."""
LEDGER_NUMBERS = {"head_moves": "ledger_number", "checkpoints": "ledger_number"}
"""Columns that say how far the ledger had come; in a bundle, how many events of the session."""

# A session has a new name, folder and place in lists; the rest is of the machine.
_NOT_ITS_OWN = {
    "sessions": {"id", "handle", "workspace_id", "trashed", "pinned", "parent_session", "last_entry"},
    "drafts": {"workspace_id", "pid", "process_start", "machine_id", "boot_id", "updated_at"},
    "executions": {"id"},
}
_COUNTED = ({"id"}, {"number"})
"""Primary keys that the database counts."""
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_STATE = re.compile(rf"|{FOLDER}|{UNKNOWN}|[0-9a-f]{{64}}", re.ASCII)
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z", re.ASCII)
_MOMENTS = ("created_at", "last_activity", "started_at", "ended_at")
_ALLOWED: Mapping[tuple[str, str], Collection[str] | re.Pattern[str]] = {
    ("sessions", "title_source"): ("task", "person", "model"),
    ("sessions", "mode"): tuple(Mode),
    ("sessions", "backend"): ("ollama", "embedded"),
    ("prompt_texts", "digest"): _DIGEST,
    ("turns", "status"): tuple(set(TurnStatus) - {TurnStatus.RUNNING}),
    ("turns", "prompt_digest"): _DIGEST,
    ("entries", "kind"): tuple(Kind),
    ("entries", "origin"): tuple(Origin),
    ("entries", "status"): tuple(EntryStatus),
    ("attachments", "sha256"): _DIGEST,
    ("attachments", "mime"): ("image/png", "image/jpeg", "image/webp"),
    ("head_moves", "cause"): tuple(Cause),
    ("checkpoints", "kind"): tuple(CheckpointKind),
    ("error_records", "kind"): ("generation", "compaction", "resume"),
    ("executions", "effect"): tuple(Effect),
    ("executions", "origin"): tuple(Origin),
    ("executions", "arguments_digest"): _DIGEST,
    ("execution_events", "kind"): tuple(EventKind),
    ("execution_events", "digest"): _DIGEST,
    ("reconciliations", "observation"): tuple(Observation),
    ("reconciliations", "source"): tuple(Source),
    ("reconciliations", "digest"): _DIGEST,
    ("file_changes", "kind"): ("created", "changed", "removed", FOLDER),
    ("file_changes", "before_digest"): _STATE,
    ("file_changes", "after_digest"): _STATE,
}
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Field:
    """One value of a row of a bundle."""

    name: str
    type: type
    nullable: bool
    refers: str
    """The table of whose rows it is the place of one; empty for a value."""
    any_text: bool
    """Whether a text may hold lone surrogates."""
    allowed: Collection[str] | re.Pattern[str] | None

    def fits(self, value: object, counts: Mapping[str, int]) -> bool:
        """Whether it may be ``value`` where each table has so many rows."""
        if value is None:
            return self.nullable
        if type(value) is not self.type:
            return False
        if isinstance(value, str):
            return self._may_say(value)
        if isinstance(value, int):
            return (1 <= value <= counts[self.refers]) if self.refers else 0 <= value < 2**63
        return not isinstance(value, float) or isfinite(value)

    def _may_say(self, text: str) -> bool:
        if isinstance(self.allowed, re.Pattern):
            return self.allowed.fullmatch(text) is not None
        if self.allowed is not None:
            return text in self.allowed
        return self.any_text or _SURROGATE.search(text) is None


def tables() -> Mapping[str, tuple[Field, ...]]:
    """What a row of each table of a bundle holds; a table stands behind those that it refers to."""
    return {
        table.name: tuple(_field(column) for column in table.columns if _is_its_own(table, column.name))
        for table in Base.metadata.sorted_tables
        if table.name not in LEFT_OUT
    }


def _is_its_own(table: Table, name: str) -> bool:
    counted = {column.name for column in table.primary_key} in _COUNTED and name in table.primary_key
    return not counted and name != "session_id" and name not in _NOT_ITS_OWN.get(table.name, ())


def _field(column: Column[object]) -> Field:
    table = column.table.name
    refers = next((key.column.table.name for key in column.foreign_keys), "")
    by_place = refers in NUMBERED
    allowed = _ALLOWED.get((table, column.name), _MOMENT if column.name in _MOMENTS else None)
    python_type = getattr(column.type, "impl", column.type).python_type
    return Field(
        name=column.name,
        type=int if by_place else python_type,
        nullable=bool(column.nullable),
        refers=refers if by_place else "",
        any_text=isinstance(column.type, StoredText),
        allowed=allowed,
    )


TABLES = tables()


def named_places(row: Row) -> list[int]:
    """The entries that the words of an entry name."""
    found: list[int] = []

    def note(place: int) -> int:
        found.append(place)
        return place

    with_places(row, note)
    return found


def with_places(row: Row, place: Callable[[int], int]) -> Row:
    """An entry whose words name other entries, with those named by ``place``: marks, and what stays with a
    summary.
    """
    if row["kind"] == Kind.MARKER and (said := mark_said(row["text"])) is not None:
        mark, key = said
        return {**row, "text": mark_text(mark, place(key))}
    if row["kind"] == Kind.SUMMARY and (note := read_note(row["context"])).stay:
        stay = tuple((place(first), place(last)) for first, last in note.stay)
        return {**row, "context": replace(note, stay=stay).text}
    return row
