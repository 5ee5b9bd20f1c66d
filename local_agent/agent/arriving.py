"""The reply while it arrives: what has come so far, what phase it is in, when it last grew."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from local_agent.agent import sentences
from local_agent.agent.repetition import RepetitionWatch
from local_agent.domain.entries import ToolCall, Usage
from local_agent.domain.events import Event, Notice, Phase, PhaseChanged, TextDelta, ThinkingDelta
from local_agent.domain.ports import (
    CallPart,
    DonePart,
    NoticePart,
    ProgressPart,
    Reply,
    StreamPart,
    TextPart,
    ThinkingPart,
)
from local_agent.domain.text import ArrivingText, normalise

Emit = Callable[[Event], None]

_BETWEEN = "\n\n"


class ArrivingReply:
    """Gathers the parts of one stream and tells of each as an event."""

    def __init__(self, emit: Emit) -> None:
        self.done: DonePart | None = None
        self.started = False
        """True once thinking, text or a call arrived: loading and prompt reading are over."""
        self.parts_seen = 0
        """Counts everything that arrives, so that a watch can tell silence."""
        self.growth = 0
        """Counts what there is to save."""
        self._emit = emit
        self._phase: Phase | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._said = ArrivingText()
        self._thought = ArrivingText()
        self._calls: list[ToolCall] = []
        self._text_watch = RepetitionWatch()
        self._thinking_watch = RepetitionWatch()
        self._sent_at = time.monotonic()
        self._first_token_seconds: float | None = None

    @property
    def so_far(self) -> Reply:
        """What has arrived, fit to be stored."""
        text, thinking = "".join(self._text), "".join(self._thinking)
        return Reply(normalise(text), normalise(thinking), tuple(self._calls))

    @property
    def usage(self) -> Usage:
        """What the server counted, with our own time to the first token."""
        counted = self.done.usage if self.done is not None else Usage()
        return replace(counted, first_token_seconds=self._first_token_seconds)

    def begin_again(self) -> None:
        """Another attempt follows: words stay, for they were shown; calls are dropped."""
        self.done = None
        self._calls.clear()
        if self._text:
            self.take(TextPart(_BETWEEN))
        elif self._thinking:
            self.take(ThinkingPart(_BETWEEN))

    def read_as(self, text: str, calls: Sequence[ToolCall]) -> None:
        """Calls were found in the text; ``text`` is what is left of it."""
        self._text = [text]
        self._calls = list(calls)

    def sent(self) -> None:
        """The request goes out now."""
        self._sent_at = time.monotonic()

    def found_loaded(self, loaded: bool | None) -> None:
        """Say what the wait for the first output is for, unless the stream has said more already."""
        if self._phase is None:
            self._enter(Phase.LOADING if loaded is False else Phase.READING)

    def take(self, part: StreamPart) -> None:
        """Add one part. Raises ``ModelError`` when the reply goes round in circles."""
        self.parts_seen += 1
        match part:
            case ThinkingPart(text) if text:
                self._grow(Phase.THINKING)
                self._thinking.append(text)
                self._emit(ThinkingDelta(self._thought.feed(text)))
                self._refuse_circles(self._thinking_watch, text)
            case TextPart(text) if text:
                self._grow(Phase.WRITING)
                self._text.append(text)
                self._emit(TextDelta(self._said.feed(text)))
                self._refuse_circles(self._text_watch, text)
            case CallPart(call):
                self._grow(self._phase or Phase.WRITING)
                self._calls.append(self._with_own_id(call))
            case ProgressPart(phase, done, total):
                self._phase = phase
                self._emit(PhaseChanged(phase, done, total))
            case NoticePart(text):
                self._emit(Notice(text))
            case DonePart():
                self.done = part
            case _:
                pass

    def _with_own_id(self, call: ToolCall) -> ToolCall:
        """Two calls of one reply that share an id, or have none, are told apart all the same."""
        if call.id and all(call.id != other.id for other in self._calls):
            return call
        return replace(call, id=f"call_{secrets.token_hex(4)}")

    def _grow(self, phase: Phase) -> None:
        self.growth += 1
        if not self.started:
            self.started = True
            self._first_token_seconds = time.monotonic() - self._sent_at
        if phase is not self._phase:
            self._enter(phase)

    def _enter(self, phase: Phase) -> None:
        self._phase = phase
        self._emit(PhaseChanged(phase))

    def _refuse_circles(self, watch: RepetitionWatch, text: str) -> None:
        if watch.feed(text):
            raise sentences.repeating()
