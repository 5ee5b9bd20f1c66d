"""The ledger: what was asked for, allowed, begun and known to have ended, event by event.

An execution is one call. Its events are only ever added; ``FOLLOWS`` is the whole state machine.
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from local_agent.domain.entries import Origin
from local_agent.domain.text import one_line
from local_agent.domain.tools import Effect, FileChange, Sizes

TARGET_READ = 2_000
TARGET_SHOWN = 200
"""Characters of an argument that are looked at, and that are shown."""


class EventKind(StrEnum):
    """What an execution's event says. The newest one but ``JOB_ENDED`` is its state."""

    REQUESTED = "requested"
    APPROVAL_REQUESTED = "approval_requested"
    APPROVED = "approved"
    DENIED = "denied"
    STARTED = "started"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    OUTCOME_UNKNOWN = "outcome_unknown"
    JOB_ENDED = "job_ended"
    """The background job that a completed execution started has come to its end."""


TERMINAL = frozenset(
    {EventKind.DENIED, EventKind.COMPLETED, EventKind.FAILED, EventKind.CANCELLED, EventKind.OUTCOME_UNKNOWN}
)
FOLLOWS: Mapping[EventKind | None, frozenset[EventKind]] = {
    None: frozenset({EventKind.REQUESTED}),
    EventKind.REQUESTED: frozenset(
        {
            EventKind.APPROVAL_REQUESTED,
            EventKind.APPROVED,
            EventKind.DENIED,
            EventKind.STARTED,
            EventKind.FAILED,
            EventKind.CANCELLED,
        }
    ),
    EventKind.APPROVAL_REQUESTED: frozenset({EventKind.APPROVED, EventKind.DENIED, EventKind.CANCELLED}),
    EventKind.APPROVED: frozenset({EventKind.STARTED, EventKind.FAILED, EventKind.CANCELLED}),
    EventKind.STARTED: frozenset(
        {EventKind.COMPLETED, EventKind.FAILED, EventKind.CANCELLED, EventKind.OUTCOME_UNKNOWN}
    ),
    EventKind.COMPLETED: frozenset({EventKind.JOB_ENDED}),
    EventKind.JOB_ENDED: frozenset(),
    EventKind.DENIED: frozenset(),
    EventKind.FAILED: frozenset(),
    EventKind.CANCELLED: frozenset(),
    EventKind.OUTCOME_UNKNOWN: frozenset(),
}
"""What may come after the newest event; None before the first."""


def may_follow(before: EventKind | None, event: EventKind) -> bool:
    """Whether the state machine allows ``event`` after ``before``."""
    return event in FOLLOWS[before]


class Observation(StrEnum):
    """What a person found about an execution whose outcome is not known."""

    EFFECT_APPLIED = "effect_applied"
    EFFECT_NOT_APPLIED = "effect_not_applied"
    EFFECT_COMPENSATED = "effect_compensated"


class Source(StrEnum):
    """Where that was found."""

    EXTERNAL_RECEIPT = "external_receipt"
    WORKSPACE_ARTIFACT = "workspace_artifact"
    VERIFICATION_CHECK = "verification_check"
    OPERATOR_OBSERVATION = "operator_observation"


@dataclass(frozen=True, slots=True)
class Evidence:
    """How an uncertain execution was settled. The free text never reaches the model."""

    observation: Observation
    source: Source
    reference: str
    summary: str
    observed_at: str
    """RFC 3339."""

    @property
    def digest(self) -> str:
        """The same for the same evidence."""
        return digest_of(asdict(self))


@dataclass(frozen=True, slots=True)
class Receipt:
    """What is kept of an execution's end, bounded."""

    status: str
    """A ``ResultStatus``."""
    summary: str = ""
    exit_code: int | None = None
    seconds: float | None = None
    size: int | None = None
    output: str = ""
    """Digest of the whole output in the object store, where there is more than the result's text."""
    diff: str = ""
    excerpt: str = ""
    """The beginning of the result's text, from which a lost result is written again."""
    sizes: tuple[Sizes, ...] = ()
    """Of the changes, one each, where they are known."""
    unscanned: str = ""
    """What is not known of the files that a command changed, and why."""


@dataclass(frozen=True, slots=True)
class Execution:
    """One call and how far it has come."""

    id: str
    """12 hex digits, random."""
    session_id: int
    """Of the session that wrote it."""
    turn_id: int
    entry_id: int
    """The entry that holds its call."""
    call_number: int
    tool: str
    arguments: Mapping[str, object]
    effect: Effect
    state: EventKind = EventKind.REQUESTED
    origin: Origin = Origin.MODEL
    """``PERSON`` for a ``!command``."""
    recovered: bool = False
    """The call was found in the text of the reply."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """What was known at its start: target, pid, group, process start, expected and intended digests; before
    that what its approval noted. ``job_ended`` holds what was noted of a job's end."""
    receipt: Receipt | None = None
    changes: tuple[FileChange, ...] = ()
    evidence: Evidence | None = None
    requested_at: str = ""
    started_at: str = ""
    ended_at: str = ""
    readable: bool = True
    """False when what is stored of it can't have been written by the program."""

    @property
    def target(self) -> str:
        """What it was done to, one line; until it was looked at, the first of its arguments that is text."""
        if "target" in self.facts:
            return str(self.facts["target"])
        first = next((value for value in self.arguments.values() if isinstance(value, str)), "")
        return one_line(first[:TARGET_READ], TARGET_SHOWN)

    @property
    def ended(self) -> bool:
        """True once a terminal event is there."""
        return self.state in TERMINAL

    @property
    def uncertain(self) -> bool:
        """True while nobody knows what it did: it blocks turns that may have effects."""
        return self.state is EventKind.OUTCOME_UNKNOWN and self.evidence is None


@dataclass(frozen=True, slots=True)
class Pending:
    """An uncertain execution, and the handle of the session that wrote it."""

    execution: Execution
    handle: str
    workspace_root: str


def new_execution_id() -> str:
    """12 hex digits from a cryptographic source."""
    return secrets.token_hex(6)


def canonical(value: object) -> str:
    """JSON of which there is one for each value."""
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"), default=str)


def digest_of_text(text: str) -> str:
    """SHA-256 of a text that UTF-8 can hold."""
    return hashlib.sha256(text.encode()).hexdigest()


def digest_of(value: object) -> str:
    """SHA-256 of a value as canonical JSON."""
    return digest_of_text(canonical(value))


def set_digest(pending: Sequence[Pending]) -> str:
    """Names a set of uncertain executions as it stands; another one when anything of it has changed."""
    return digest_of(sorted((each.execution.id, each.execution.state) for each in pending))
