"""The event stream of a turn: plain data that every front end consumes.

Order: ``TurnStarted``, then any of the middle events, then exactly one ``TurnEnded``.
``TurnFailed`` comes right before it when the turn failed.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.entries import Entry, TurnStatus, Usage


class Phase(StrEnum):
    """What the model is doing while the person waits."""

    LOADING = "loading"
    READING = "reading"
    THINKING = "thinking"
    WRITING = "writing"
    STOPPING = "stopping"


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """The question is stored; nothing has been sent yet."""

    handle: str
    """Empty when the conversation is not saved."""
    turn_id: int
    question: Entry


@dataclass(frozen=True, slots=True)
class PhaseChanged:
    """The wait has a new reason. ``done`` and ``total`` are tokens of the prompt, where known."""

    phase: Phase
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """More of the model's thinking."""

    text: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class Silence:
    """Nothing has arrived for ``seconds``; ``note`` says what the server was found to be doing."""

    seconds: int
    note: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """What the reply cost; ``window`` is the context window of the request in tokens."""

    usage: Usage
    window: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the person should know that is no failure."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed: one line, the way out, and the raw error when it says more."""

    kind: str
    line: str
    hint: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn is settled in the store. ``reply`` is None when nothing of an answer arrived."""

    turn_id: int
    status: TurnStatus
    stop_reason: str | None
    reply: Entry | None


Event = (
    TurnStarted
    | PhaseChanged
    | ThinkingDelta
    | TextDelta
    | Silence
    | UsageReported
    | Notice
    | TurnFailed
    | TurnEnded
)
