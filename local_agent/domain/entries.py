"""The nodes of a conversation's tree, and the turns and sessions they belong to.

An entry is inserted once and never changes. Questions, assistant messages, summaries and
markers form paths; tool results are leaves under the assistant entry that holds their call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from local_agent.domain.pictures import Picture

if TYPE_CHECKING:
    from local_agent.domain.ledger import Execution


class Kind(StrEnum):
    """What a node of the tree is."""

    QUESTION = "question"
    COMMAND = "command"
    """A ``!command`` of the person's own; its output is a result like a tool's."""
    ASSISTANT = "assistant"
    RESULT = "result"
    SUMMARY = "summary"
    MARKER = "marker"


PICTURES_FORGOTTEN = "pictures forgotten"
"""Text of a marker: what was attached before it is sent, shown and exported no more."""


class Origin(StrEnum):
    """Who wrote an entry."""

    PERSON = "person"
    MODEL = "model"
    TOOL = "tool"
    PROGRAM = "program"
    HOOK = "hook"


class EntryStatus(StrEnum):
    """How the text of an entry came to its end."""

    SETTLED = "settled"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


class TurnStatus(StrEnum):
    """Where a turn stands; ``RUNNING`` without a live holder means the process died in it."""

    RUNNING = "running"
    SETTLED = "settled"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model asked for it; ``arguments`` is always a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    raw: str = ""
    """What the model wrote in the place of arguments, where that was no JSON object; never sent again."""
    recovered: bool = False
    """It was found in the text of the reply."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One node. ``id`` is also its place in time: a higher id was written later."""

    id: int
    session_id: int
    turn_id: int | None
    parent: int | None
    kind: Kind
    origin: Origin
    text: str
    context: str = ""
    """What the program added to a question (date, notes, files); sent before ``text``."""
    thinking: str = ""
    status: EntryStatus = EntryStatus.SETTLED
    calls: tuple[ToolCall, ...] = ()
    call_number: int | None = None
    """For a result: the place of its call in the parent's ``calls``."""
    kept_from: int | None = None
    """For a summary: the id of the first entry that stays in requests after it."""
    created_at: str = ""
    """UTC, ISO 8601 with milliseconds."""
    pictures: tuple[Picture, ...] = ()
    """What was attached to a question, in order."""
    readable: bool = True
    """False when the stored bytes could not be read; such an entry is shown as such and never sent."""


@dataclass(frozen=True, slots=True)
class Usage:
    """What a reply cost, as the server counted it. Durations are seconds; None is unknown."""

    prompt_tokens: int | None = None
    reply_tokens: int | None = None
    load_seconds: float | None = None
    prompt_seconds: float | None = None
    reply_seconds: float | None = None
    first_token_seconds: float | None = None
    """From sending the request to the first text or thinking, by our own monotonic clock."""

    @property
    def tokens_per_second(self) -> float | None:
        """Speed of writing, or None where the server did not say."""
        if not self.reply_tokens or not self.reply_seconds:
            return None
        return self.reply_tokens / self.reply_seconds


@dataclass(frozen=True, slots=True)
class Turn:
    """One prompt to its settled answer."""

    id: int
    session_id: int
    status: TurnStatus
    stop_reason: str | None
    model: str
    usage: Usage
    started_at: str
    ended_at: str | None


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """A failed turn, kept beside the history; the model never reads it."""

    kind: str
    """``generation``, ``compaction`` or ``resume``."""
    line: str
    """The line that was shown."""
    raw: str
    """The raw error when it says more than the line, else empty."""
    question: str
    """The first line of the question."""
    model: str
    provider: str
    turn_id: int | None = None
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class Slice:
    """Consecutive entries of one path, oldest first, with what the screen shows around them."""

    entries: tuple[Entry, ...]
    turns: Mapping[int, Turn]
    errors: Mapping[int, ErrorRecord]
    """By turn id."""
    more: bool
    """True when older entries exist before the first one."""
    executions: Mapping[tuple[int, int], Execution] = field(default_factory=dict)
    """By the entry that holds the call, and the call's number."""
    marks: Mapping[int, str] = field(default_factory=dict)
    """By turn id, what the path says is wanted of the exchange: a ``domain.marks.Mark``."""
