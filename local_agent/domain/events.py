"""The event stream of a turn: plain data that every front end consumes.

Order: ``TurnStarted``, then any of the middle events, then exactly one ``TurnEnded``.
``TurnFailed`` comes right before it when the turn failed. ``SavingFailed`` and ``SavedAgain`` may
come anywhere before it.

A reply with calls is followed by ``ReplyRecorded``, one ``ToolRequested`` for each call in call order,
and for each of them exactly one ``ToolFinished`` (in the order in which they end), before the next reply
begins. ``ApprovalAsked`` and ``QuestionAsked`` are answered by id, one at a time; ``Answered`` follows,
also when the answer was void or nobody gave one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.approvals import ApprovalRequest, Choice
from local_agent.domain.entries import Entry, TurnStatus, Usage
from local_agent.domain.ledger import Execution


class Phase(StrEnum):
    """What the model is doing while the person waits."""

    LOADING = "loading"
    READING = "reading"
    THINKING = "thinking"
    WRITING = "writing"
    COMPACTING = "compacting"
    """Earlier turns are being summarised; the question waits for that."""
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
class ReplyRecorded:
    """A reply that asks for tools is stored, and its calls with it."""

    reply: Entry


@dataclass(frozen=True, slots=True)
class ToolRequested:
    """The model asks for a tool, or the person for a command; nothing of it has been done."""

    execution: Execution


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """Nothing goes on before this is answered by ``request.id``."""

    request: ApprovalRequest


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    """The model asks the person something."""

    id: str
    execution_id: str
    text: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answered:
    """A question is over; ``line`` says what a wider answer covers from now on, or why it was void."""

    id: str
    choice: Choice
    line: str = ""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Its start is on disk, and it runs."""

    execution_id: str
    target: str
    confined: bool = False


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """More of what a running command writes."""

    execution_id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result, whether it ran or not; ``result`` is what the model reads."""

    execution: Execution
    result: Entry


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
class Compacted:
    """A summary is stored, and stands in requests for what left the window; nothing is lost of that."""

    summary: Entry
    checkpoint_id: int
    """Made before it."""
    left: tuple[Entry, ...]
    """Questions and replies that are sent no more, oldest first."""
    tokens_before: int
    tokens_after: int
    """Of a request, estimated."""
    mechanical: bool = False
    """The program put the summary together, because the model's was of no use."""


@dataclass(frozen=True, slots=True)
class CompactionFailed:
    """Nothing was changed; the errors trail has it."""

    line: str
    hint: str = ""


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
    | ReplyRecorded
    | ToolRequested
    | ApprovalAsked
    | QuestionAsked
    | Answered
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Silence
    | UsageReported
    | Notice
    | Compacted
    | CompactionFailed
    | SavingFailed
    | SavedAgain
    | TurnFailed
    | TurnEnded
)
