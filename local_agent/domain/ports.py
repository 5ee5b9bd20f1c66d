"""What the agent needs from below: a model that streams and a journal that records.

``runtime`` hands the concrete classes in; ``agent`` knows only these shapes.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from local_agent.domain.drafts import Draft
from local_agent.domain.entries import (
    Entry,
    EntryStatus,
    ErrorRecord,
    Origin,
    ToolCall,
    TurnStatus,
    Usage,
)
from local_agent.domain.events import Phase
from local_agent.domain.ledger import EventKind, Execution, Receipt, new_execution_id
from local_agent.domain.models import ModelInfo, PullProgress, ServerState
from local_agent.domain.pictures import Picture
from local_agent.domain.requests import Message
from local_agent.domain.tools import Effect, FileChange, ToolSpec


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request, complete: a backend adds nothing to it and leaves nothing out."""

    model: str
    messages: tuple[Message, ...]
    window: int
    """Context window in tokens; the same on every call to one model, or the server reloads it."""
    max_output: int
    """Upper bound of the reply in tokens; always sent."""
    think: bool | str | None = None
    """None: not sent."""
    keep_alive: str | int | None = None
    options: Mapping[str, object] = field(default_factory=dict)
    tools: tuple[ToolSpec, ...] = ()
    """What the model may call; the same in every request of a conversation."""
    picture_bytes: Mapping[str, bytes] = field(default_factory=dict)
    """By SHA-256, of every picture of every message."""


@dataclass(frozen=True, slots=True)
class ThinkingPart:
    text: str


@dataclass(frozen=True, slots=True)
class TextPart:
    text: str


@dataclass(frozen=True, slots=True)
class CallPart:
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ProgressPart:
    """The backend itself says what it is doing (the embedded engine does; Ollama can't)."""

    phase: Phase
    done: int | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class NoticePart:
    """The backend did something the person should know, such as a retry without ``think``."""

    text: str


@dataclass(frozen=True, slots=True)
class DonePart:
    """The end of a whole reply; a stream that ends without one was cut off."""

    reason: str
    """``stop`` or ``length``."""
    usage: Usage


StreamPart = ThinkingPart | TextPart | CallPart | ProgressPart | NoticePart | DonePart


class Backend(Protocol):
    """A place where models run. All errors are ``ModelError``."""

    @property
    def kind(self) -> str:
        """``ollama`` or ``embedded``."""

    @property
    def address(self) -> str:
        """Server URL, or the path of the GGUF file."""

    def stream(self, request: ChatRequest) -> AsyncGenerator[StreamPart, None]:
        """Stream one reply. Closing the generator (or cancelling) stops the generation at its source."""

    async def state(self) -> ServerState:
        """Look at the server now; never raises for an unreachable one."""

    async def describe(self, model: str) -> ModelInfo:
        """Everything known of one model; raises ``ModelError`` when it is not there."""

    async def loaded(self, model: str) -> bool | None:
        """Whether the model is in memory now; None when that can't be known."""

    def pull(self, model: str) -> AsyncGenerator[PullProgress, None]:
        """Fetch a model; closing the generator ends it, and a later pull goes on from there."""

    async def unload(self, model: str) -> None:
        """Take the model out of memory; one that is not there is no error."""

    async def close(self) -> None:
        """Release connections, threads and memory."""


@dataclass(frozen=True, slots=True)
class Opening:
    """What is committed before a request goes out."""

    text: str
    parent: int | None
    """The entry the question follows; the session's head, or an earlier one for a retry."""
    model: str
    model_digest: str = ""
    context: str = ""
    pictures: tuple[Picture, ...] = ()
    system_prompt: str = ""
    """Stored once by digest, for looking; never sent again from there."""
    origin: Origin = Origin.PERSON
    command: ToolCall | None = None
    """Of a ``!command``: the entry is one of kind ``COMMAND``, and this is its one call."""
    execution_id: str = field(default_factory=new_execution_id, compare=False)
    """Of that call."""
    asked_at: str = ""
    """UTC, ISO 8601, of a question that is written later than it was asked; else empty."""
    unsent: Callable[[], Draft | None] | None = None
    """Tells what is left to be sent once this question is stored, None when that is nobody's business any
    more; both are written as one."""


@dataclass(frozen=True, slots=True)
class OpenTurn:
    """A turn that has begun: its question is on disk, or waits in memory to be written."""

    id: int
    session_id: int
    handle: str
    question: Entry


@dataclass(frozen=True, slots=True)
class Reply:
    """What has arrived of an answer so far."""

    text: str = ""
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()

    @property
    def empty(self) -> bool:
        """True when nothing at all arrived."""
        return not (self.text or self.thinking or self.calls)


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended. A reply that is not empty becomes an entry with ``entry_status``."""

    status: TurnStatus
    entry_status: EntryStatus
    stop_reason: str | None
    reply: Reply
    usage: Usage
    error: ErrorRecord | None = None
    ended_at: str = ""
    """UTC, ISO 8601, of an end that is written later than it happened; else empty."""


@dataclass(frozen=True, slots=True)
class Shown:
    """Messages with the pictures that can go along."""

    messages: tuple[Message, ...]
    picture_bytes: Mapping[str, bytes] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    """What was left out, in lines for the person."""


class PictureReader(Protocol):
    """Where the bytes of a request's pictures come from, right before it is sent."""

    async def shown(self, messages: tuple[Message, ...], model: str, *, sees: bool) -> Shown:
        """Read the pictures of ``messages``; ``sees`` says whether ``model`` can be shown any.

        Raises ``LocalAgentError`` when one of the question being asked can't be read; an earlier one
        is left out.
        """


class Journal(Protocol):
    """Where a conversation's turns are recorded, in order, before and after they happen.

    What can't be written now waits, and the turn goes on. ``StoreError`` means that it never will be
    written here.
    """

    async def begin(self, opening: Opening) -> OpenTurn:
        """Commit the question (and the session and its lease, for a first one)."""

    async def keep(self, turn: OpenTurn, reply: Reply) -> None:
        """Save the reply as far as it has come; the next call replaces it. Raises only ``LeaseLost``."""

    async def record(
        self, turn: OpenTurn, reply: Reply, effects: Sequence[Effect]
    ) -> tuple[Entry, tuple[Execution, ...]]:
        """In one transaction: a whole reply that asks for tools as an entry, the head on it, the open row
        gone, and an execution for each of its calls, requested. ``effects`` are those of its calls.

        What arrives next belongs behind it.
        """

    async def note(self, execution: Execution, kind: EventKind, detail: Mapping[str, object]) -> Execution:
        """Add an event of an execution that has not started, or of a job that has ended."""

    async def start(self, execution: Execution, facts: Mapping[str, object]) -> Execution:
        """Commit that it starts now. When this raises, nothing may run."""

    async def finish(
        self,
        execution: Execution,
        kind: EventKind,
        receipt: Receipt,
        text: str,
        changes: Sequence[FileChange],
    ) -> tuple[Execution, Entry]:
        """In one transaction: the terminal event, what was changed, and the result as a leaf."""

    async def requested(self, turn: OpenTurn) -> tuple[Execution, ...]:
        """The executions of the turn's own ``!command``."""

    async def settle(self, turn: OpenTurn, outcome: Outcome) -> Entry | None:
        """In one transaction: the reply as an entry, the head on it, the turn's end, the open row gone."""

    async def model_path(self, leaf: int) -> Sequence[Entry]:
        """The part of the path to ``leaf`` that requests are built from, results included, oldest first."""
