"""What a headless run came to, gathered from its events."""

from __future__ import annotations

from dataclasses import dataclass, field

from local_agent.domain import ledger
from local_agent.domain.entries import TurnStatus, Usage
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.events import (
    Compacted,
    Event,
    ReplyRecorded,
    SavedAgain,
    SavingFailed,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    TurnEnded,
    TurnFailed,
    TurnStarted,
    UsageReported,
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why it failed: the line that was shown, the way out, and the raw error when it says more."""

    kind: str
    line: str
    hint: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True)
class CallMade:
    """One call of a tool and what came of it."""

    tool: str
    target: str
    status: str
    """``ok``, ``failed``, ``refused``, ``cancelled`` or ``uncertain``."""
    summary: str = ""
    exit_code: int | None = None
    seconds: float | None = None
    changed: tuple[str, ...] = ()
    """The files that it changed."""


@dataclass(slots=True)
class Receipt:
    """The outcome of one prompt. ``handle`` is empty when nothing was saved."""

    handle: str = ""
    title: str = ""
    model: str = ""
    status: str = TurnStatus.FAILED
    stop_reason: str | None = None
    text: str = ""
    """The answer: what was said after the last call of a tool."""
    thinking: str = ""
    calls: list[CallMade] = field(default_factory=list)
    refused: int = 0
    """Calls that were refused because nobody could be asked."""
    summarised: int = 0
    """Earlier messages that left the context window for a summary."""
    usage: Usage | None = None
    window: int | None = None
    error: Failure | None = None
    unsaved: Failure | None = None
    """Why the conversation is not on disk; None when it is, or was never meant to be."""

    def note(self, event: Event) -> None:
        """Take in what an event adds."""
        match event:
            case TurnStarted(handle=handle):
                self.handle = handle
            case TextDelta(text):
                self.text += text
            case ThinkingDelta(text):
                self.thinking += text
            case UsageReported(usage, window):
                self.usage, self.window = usage, window
            case TurnFailed(kind, line, hint, raw):
                self.error = Failure(kind, line, hint, raw)
            case SavingFailed(line=line, hint=hint):
                self.unsaved = Failure("store", line, hint)
            case SavedAgain(handle=handle):
                self.handle, self.unsaved = handle, None
            case TurnEnded(status=status, stop_reason=reason):
                self.status, self.stop_reason = status, reason
            case _:
                self._note_tools(event)

    def _note_tools(self, event: Event) -> None:
        match event:
            case ReplyRecorded():
                self.text = self.thinking = ""
            case Compacted(left=left):
                self.summarised += len(left)
            case ToolFinished(execution=execution):
                self.calls.append(_call_made(execution))
            case _:
                pass

    def fail(self, error: LocalAgentError) -> None:
        """The run ended with an error outside its events."""
        self.status = TurnStatus.FAILED
        self.error = Failure(
            str(getattr(error, "kind", type(error).__name__)), error.line, error.hint, error.raw
        )


def _call_made(execution: ledger.Execution) -> CallMade:
    receipt = execution.receipt or ledger.Receipt("")
    return CallMade(
        tool=execution.tool,
        target=execution.target,
        status=receipt.status,
        summary=receipt.summary,
        exit_code=receipt.exit_code,
        seconds=receipt.seconds,
        changed=tuple(change.path for change in execution.changes),
    )
