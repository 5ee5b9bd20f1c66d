"""What a headless run came to, gathered from its events."""

from __future__ import annotations

from dataclasses import dataclass

from local_agent.domain.entries import TurnStatus, Usage
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.events import (
    Event,
    SavedAgain,
    SavingFailed,
    TextDelta,
    ThinkingDelta,
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


@dataclass(slots=True)
class Receipt:
    """The outcome of one prompt. ``handle`` is empty when nothing was saved."""

    handle: str = ""
    title: str = ""
    model: str = ""
    status: str = TurnStatus.FAILED
    stop_reason: str | None = None
    text: str = ""
    thinking: str = ""
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
                pass

    def fail(self, error: LocalAgentError) -> None:
        """The run ended with an error outside its events."""
        self.status = TurnStatus.FAILED
        self.error = Failure(
            str(getattr(error, "kind", type(error).__name__)), error.line, error.hint, error.raw
        )
