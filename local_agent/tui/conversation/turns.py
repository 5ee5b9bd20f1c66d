"""Runs turns one after another, and is the one place where a turn is stopped."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from textual.message import Message
from textual.screen import Screen
from textual.worker import Worker

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.prompt.prompt_queue import PromptQueue
from local_agent.tui.widgets.phase import PhaseLine
from local_agent.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from local_agent.domain.approvals import Answer
    from local_agent.domain.drafts import Draft, Prompt
    from local_agent.domain.events import Event, SavedAgain, SavingFailed
    from local_agent.domain.ledger import Execution
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.conversation.turn_view import TurnView

STOP_SECONDS = 1.5
"""How long a stopped turn may take to record its end before it is cancelled."""
SLICE_SECONDS = 0.02
"""How long events are drawn before keys get their turn, however many wait."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Compaction:
    """In the place of a prompt: earlier turns are to be summarised."""

    focus: str


class TurnRunner:
    """The turns of whatever conversation the screen shows. A running turn keeps the one it began with."""

    @dataclass
    class Changed(Message):
        """A turn began or ended, its session got its name, or the queue changed."""

        settled: bool = False

    @dataclass
    class SavingChanged(Message):
        """What is on screen is not on disk, or is again."""

        news: SavingFailed | SavedAgain

    @dataclass
    class CallEnded(Message):
        """A tool has done what it was asked to, or has not."""

        execution: Execution

    class SessionLost(Message):
        """A turn could not be recorded: another process has the session now."""

    def __init__(
        self,
        screen: Screen[Any],
        transcript: Transcript,
        phase: PhaseLine,
        glyphs: Glyphs,
        unsent: Callable[[Conversation], Draft | None],
    ) -> None:
        self.queue = PromptQueue()
        self.busy = False
        self.paused = False
        """True while the conversation's head is moved: what is sent meanwhile waits."""
        self._screen = screen
        self._transcript = transcript
        self._phase = phase
        self._glyphs = glyphs
        self._unsent = unsent
        self._running: Conversation | None = None
        self._worker: Worker[None] | None = None
        self._stopping = False
        self._idle = asyncio.Event()
        self._idle.set()

    def ask(self, conversation: Conversation, prompt: Prompt) -> None:
        """Send a prompt now, or after what is running."""
        if self.busy or self.paused:
            self.queue.add(prompt)
            self._screen.post_message(self.Changed())
        else:
            self._start(conversation, prompt)

    def retry(self, conversation: Conversation) -> None:
        """Ask the last question again."""
        self._start(conversation, None)

    def compact(self, conversation: Conversation, focus: str) -> None:
        """Have earlier turns summarised. Raises ``UsageError`` while something else goes on."""
        if self.busy or self.paused:
            raise UsageError("A turn is running.", "Stop it with Esc first, or wait for its end.")
        self._start(conversation, _Compaction(focus))

    def answer(self, question_id: str, answer: Answer) -> None:
        """Answer what the running turn asks; one that waits for something else lets it be."""
        if self._running is not None:
            self._running.answer(question_id, answer)

    async def stop(self) -> None:
        """End the running turn and wait until its end is recorded. A second call only waits."""
        if self._running is None:
            return
        self._stopping = True
        self._running.stop()
        try:
            await asyncio.wait_for(self._idle.wait(), STOP_SECONDS)
        except TimeoutError:
            _log.warning("a stopped turn did not end within %s s", STOP_SECONDS)
            if self._worker is not None:
                self._worker.cancel()

    def _start(self, conversation: Conversation, prompt: Prompt | _Compaction | None) -> None:
        self.queue.sending = None if isinstance(prompt, _Compaction) else prompt
        self.busy = True
        self._stopping = False
        self._idle.clear()
        self._running = conversation
        self._worker = self._screen.run_worker(self._run(conversation, prompt), group="turn")
        self._screen.post_message(self.Changed())

    async def _run(self, conversation: Conversation, prompt: Prompt | _Compaction | None) -> None:
        self._transcript.live = True
        settled = False
        try:
            settled = await self._turn(conversation, prompt)
            while settled and not self._stopping and (following := self.queue.next()) is not None:
                self._screen.post_message(self.Changed(settled=True))
                settled = await self._turn(conversation, following)
        finally:
            if not settled or self._stopping:
                self.queue.hold()
            self.busy = self._transcript.live = False
            self._running = self._worker = None
            self._idle.set()
            self._screen.post_message(self.Changed(settled=settled))

    async def _turn(self, conversation: Conversation, prompt: Prompt | _Compaction | None) -> bool:
        from local_agent.domain.own_command import command_of
        from local_agent.tui.conversation.turn_view import (
            TurnView,  # Markdown and Pygments: after the first paint
        )

        view = TurnView(self._transcript, self._phase, self._glyphs)
        try:
            await self._transcript.mount_end()
            if prompt is None:
                self._phase.begin()
                events = conversation.retry()
            elif isinstance(prompt, _Compaction):
                self._phase.begin()
                events = conversation.compact(prompt.focus)
            elif (command := command_of(prompt.text)) is not None:
                await view.ask(prompt.text.strip())
                events = conversation.run_command(command, self._begins(conversation))
            elif (editing := self.queue.editing) is not None and not editing.asked:
                # What it stands in the place of stays on screen until its turn begins.
                self._phase.begin(characters=len(prompt.text))
                question = editing.question
                events = conversation.ask(prompt, self._begins(conversation), instead_of=question)
            else:
                await view.ask(prompt.text, prompt.pictures)
                events = conversation.ask(prompt, self._begins(conversation))
            if self._stopping:
                conversation.stop()  # it came while the question was drawn
            return await self._draw(view, events)
        except LocalAgentError as error:
            await view.fail(error.line, error.hint)
        except Exception:
            _log.exception("a turn failed in a way that has no name")
            await view.fail(
                "Something in the program failed; the conversation is kept.", "The details: local-agent logs"
            )
        finally:
            await view.close()
        return False

    def _begins(self, conversation: Conversation) -> Callable[[], Draft | None]:
        """To be called whenever the question that was just sent is about to be stored."""
        sent = True

        def unsent() -> Draft | None:
            nonlocal sent
            if sent:
                sent, self.queue.sending = False, None
            return self._unsent(conversation)

        return unsent

    async def _draw(self, view: TurnView, events: AsyncGenerator[Event, None]) -> bool:
        from local_agent.domain.entries import TurnStatus
        from local_agent.domain.events import (
            Answered,
            ApprovalAsked,
            Compacted,
            CompactionFailed,
            PhaseChanged,
            QuestionAsked,
            SavedAgain,
            SavingFailed,
            ToolFinished,
            TurnEnded,
            TurnFailed,
            TurnStarted,
            UsageReported,
        )

        changing = (
            TurnStarted | UsageReported | PhaseChanged | ApprovalAsked | QuestionAsked | Answered | Compacted
        )
        status = TurnStatus.FAILED
        async with aclosing(events):
            rested = monotonic()
            async for event in events:
                await view.show(event)
                if isinstance(event, TurnStarted) and self.queue.editing is not None:
                    self.queue.editing.asked = True
                if isinstance(event, changing):
                    self._screen.post_message(self.Changed())
                elif isinstance(event, SavingFailed | SavedAgain):
                    self._screen.post_message(self.SavingChanged(event))
                elif isinstance(event, ToolFinished):
                    self._screen.post_message(self.CallEnded(event.execution))
                elif isinstance(event, TurnFailed) and event.kind == "lease_lost":
                    self._screen.post_message(self.SessionLost())
                elif isinstance(event, TurnEnded):
                    status = event.status
                if isinstance(event, Compacted | CompactionFailed):
                    status = TurnStatus.SETTLED
                # Events that wait already come without a pause between them.
                if monotonic() - rested > SLICE_SECONDS:
                    await asyncio.sleep(0)
                    rested = monotonic()
        return status is TurnStatus.SETTLED
