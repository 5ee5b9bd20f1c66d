"""The event stream of a turn: plain data that every front end consumes.

Order: ``TurnStarted``, then any of the middle events, then exactly one ``TurnEnded``.
``TurnFailed`` comes right before it when the turn failed. ``SavingFailed`` and ``SavedAgain`` may
come anywhere before it.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """The question is recorded; nothing has been sent yet."""

    handle: str
    """Empty when the conversation is not saved, or not yet."""
    turn_id: int
    question: Entry
    model: str
    """That it is put to. The next turn's may be chosen already."""


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
class SavingFailed:
    """What is on screen is not on disk; it is kept in memory and tried again with every write."""

    waiting: int
    """Turns that wait; 0 while it is only the reply that is streaming."""
    line: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class SavedAgain:
    """Everything is on disk again."""

    turns: int
    """How many had to wait."""
    handle: str
    ids: Mapping[int, int]
    """The ids of their entries: from those they had while they waited to their own."""


@dataclass(frozen=True, slots=True)
class TurnFailed:
    """The turn failed: one line, the way out, and the raw error when it says more."""

    kind: str
    line: str
    hint: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The turn's end is recorded. ``reply`` is None when nothing of an answer arrived."""

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
    | SavingFailed
    | SavedAgain
    | TurnFailed
    | TurnEnded
)
