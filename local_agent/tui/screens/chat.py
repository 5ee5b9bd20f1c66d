"""The main screen: where one talks to a model."""

from __future__ import annotations

import asyncio
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.getters import query_one

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.errors import UsageError
from local_agent.domain.text import sanitise
from local_agent.tui import leaving
from local_agent.tui.commands import COMMANDS
from local_agent.tui.conversation import opening
from local_agent.tui.conversation.greeting import Greeting
from local_agent.tui.conversation.history import History
from local_agent.tui.conversation.saving import Saving
from local_agent.tui.conversation.turns import TurnRunner
from local_agent.tui.keys import CHAT_BINDINGS
from local_agent.tui.launch import Launch
from local_agent.tui.look.glyphs import choose_glyphs
from local_agent.tui.prompt.composing import Composing
from local_agent.tui.prompt.drafts import DraftKeeper
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.screens.doors import Doors, NoticeKind
from local_agent.tui.start import send_once_allowed, start, use_demo
from local_agent.tui.status import footer_facts, header_facts
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.footer import Footer
from local_agent.tui.widgets.header import Header
from local_agent.tui.widgets.phase import PhaseLine
from local_agent.tui.widgets.prompt_pane import PromptPane
from local_agent.tui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from local_agent.tui.conversation.copying import Copying
    from local_agent.tui.models.actions import Models
    from local_agent.tui.prompt.attaching import Attaching
    from local_agent.tui.tools.tooling import Tooling
    from local_agent.tui.tools.waiting import WaitingPanel
    from local_agent.tui.travelling import Travelling
    from local_agent.tui.widgets.queue_strip import QueueStrip
    from local_agent.tui.working import Working

FIRST_KEYS_SECONDS = 0.05
"""How long the first paint and the keys typed before it have the processor for themselves."""
KEEP_SECONDS = 0.5
AGAIN_SECONDS = 2.0
"""Within which a second Ctrl+C leaves, and a second Esc belongs to the first."""


class ChatScreen(Doors):
    """Holds the conversation, and hands what happens to those who know what to do about it."""

    BINDINGS: ClassVar[list[BindingType]] = CHAT_BINDINGS
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = "Composer"

    header = query_one(Header)
    transcript = query_one(Transcript)
    pane = query_one(PromptPane)
    composer = query_one(Composer)
    footer = query_one(Footer)

    def __init__(self, launch: Launch) -> None:
        super().__init__()
        self.launch = launch
        self.glyphs = choose_glyphs(launch.settings.ui.glyphs)
        self.drafts = DraftKeeper(self, self._unsent)
        self.saving = Saving(self)
        self.greeting = Greeting(self)
        self.composing = Composing(self)
        self._again_until = 0.0
        self._stopped_until = 0.0
        moving = launch.settings.ui.motion != "reduced"
        transcript = Transcript()
        self.phase = PhaseLine(self.glyphs, moving=moving)
        self._models: Models | None = None
        self.turns = TurnRunner(self, transcript, self.phase, self.glyphs, self.drafts.give)
        self.history = History(transcript, self.glyphs)
        transcript.pager = self.history
        self._seen_at_once = (
            Header(self.glyphs),
            transcript,
            PromptPane(self.turns.queue, self.composing.questions, self._keep_draft, self.glyphs),
            Footer(self.glyphs),
        )
        self._queue_strip: QueueStrip | None = None

    @cached_property
    def attaching(self) -> Attaching:
        """Attaches pictures to what is being written."""
        from local_agent.tui.prompt.attaching import Attaching  # not before the first paint

        return Attaching(self)

    @cached_property
    def copying(self) -> Copying:
        """Copies answers, and what else is to be copied."""
        from local_agent.tui.conversation.copying import Copying  # not before the first paint

        return Copying(self, self.transcript)

    @cached_property
    def tooling(self) -> Tooling:
        """The mode, and the list of what is to be done."""
        from local_agent.tui.tools.tooling import Tooling  # not before the first paint

        return Tooling(self)

    @cached_property
    def working(self) -> Working:
        """Opens what there is about the work of tools."""
        from local_agent.tui.working import Working  # not before the first paint

        return Working(self)

    @cached_property
    def travelling(self) -> Travelling:
        """Goes back and forth in the conversation."""
        from local_agent.tui.travelling import Travelling  # not before the first paint

        return Travelling(self)

    @property
    def busy(self) -> bool:
        """True while a turn runs."""
        return self.turns.busy

    @property
    def models(self) -> Models:
        """What can be done about models; made when it is first wanted."""
        if self.runtime is None:
            raise UsageError("The database is still being opened: one moment.")
        if self._models is None:
            from local_agent.tui.models.actions import Models

            self._models = Models(self, self.runtime)
        return self._models

    def compose(self) -> ComposeResult:
        yield from self._seen_at_once

    def on_mount(self) -> None:
        self.show_facts()
        self.set_timer(FIRST_KEYS_SECONDS, self._start)

    async def _start(self) -> None:
        from local_agent.tui.widgets.queue_strip import QueueStrip  # hidden at first

        self._queue_strip = QueueStrip(self.glyphs)
        await self.mount_all((self.phase, self._queue_strip), before=self.pane)
        self.show_facts()
        self.run_worker(start(self), group="start")

    def notify_line(self, text: str, kind: NoticeKind = "information") -> None:
        """Say one line: in passing when it only informs, in the transcript when something is wrong."""
        if kind == "information":
            self.notify(sanitise(text), markup=False)
        else:
            from local_agent.tui.widgets.remarks import Remark

            self.run_worker(self.transcript.say(Remark(text, kind, glyphs=self.glyphs)), group="remarks")

    def show_facts(self, message: str = "") -> None:
        """Draw header, footer and queue again; ``message`` takes the place of the hints."""
        self.header.facts = header_facts(self)
        self.footer.facts = footer_facts(self, message)
        if self._queue_strip is not None and self._queue_strip.is_attached:
            self._queue_strip.show(self.turns.queue, typing=not self.pane.prompt.empty)
        self.pane.may_suspend = not self.busy
        self.greeting.show()

    async def new_conversation(self) -> None:
        """Leave this session as it is; the next prompt opens a new one."""
        await opening.begin_new(self)

    async def open_session(self, handle: str) -> None:
        """Replace the conversation by a stored session."""
        await opening.open_handle(self, handle)

    async def retry(self) -> None:
        """Ask the last question again as a new branch."""
        if self.conversation is not None and await opening.may_leave(self):
            self.turns.retry(self.conversation)

    async def rename(self, title: str) -> None:
        """Set the session's title for good."""
        if self.conversation is not None:
            await self.conversation.rename(title)
            self.show_facts()

    async def leave(self, return_code: int = 0) -> None:
        """Stop the turn, keep the draft, give the session back, and go."""
        await leaving.leave(self, return_code)

    @on(PromptPane.Prompted)
    def _prompted(self, event: PromptPane.Prompted) -> None:
        if not self.travelling.took(event.prompt):
            self.send_prompt(event.prompt)

    def send_prompt(self, prompt: Prompt) -> None:
        """Ask now, after what runs, or once it may be asked; part of the draft until its turn begins."""
        if self.runtime is not None and not self.runtime.writable:
            self.load_prompt(prompt)
            self.notify_line("Only a copy is read here. Ask without it: local-agent --no-save", "warning")
        elif refusal := self.attaching.refused(prompt) or self.branching.refused(prompt):
            self.load_prompt(prompt)
            self.notify_line(refusal, "warning")
        elif self.conversation is not None and self.conversation.read_only:
            self.run_worker(opening.take_up(self, prompt), group="opening")
        elif self.conversation is None or self.runtime is None:
            self.turns.queue.add(prompt)
            self.show_facts()
        elif self.runtime.consent_needed is not None and self.conversation.backend_kind == "ollama":
            send_once_allowed(self, prompt)
        elif self.conversation.planner.router.consent_needed is not None:
            self.models.send_once_agreed(prompt)
        else:
            self.greeting.end()
            self.turns.ask(self.conversation, prompt)

    def on_waiting_panel_answered(self, event: WaitingPanel.Answered) -> None:
        self.turns.answer(event.question_id, event.answer)

    @on(TurnRunner.CallEnded)
    def _call_ended(self, event: TurnRunner.CallEnded) -> None:
        self.tooling.note(event.execution)

    def load_prompt(self, prompt: Prompt) -> None:
        """Give a prompt that was not sent back to the composer."""
        self.pane.load(prompt)

    @on(PromptPane.Commanded)
    def _commanded(self, event: PromptPane.Commanded) -> None:
        self.action_command(event.line)

    @on(PromptPane.Edited)
    @on(TurnRunner.Changed)
    def _changed(self) -> None:
        self.note_draft()
        self.show_facts()

    @on(TurnRunner.Changed)
    def _turn_changed(self) -> None:
        if self.busy:
            self.run_worker(self.models.expect(), group="pace")

    @on(PromptPane.Edited)
    def _edited(self) -> None:
        self._stopped_until = 0.0

    @on(Composer.Pasted)
    def _pasted(self, event: Composer.Pasted) -> None:
        self.attaching.pasted(event.text, event.shown)

    @on(PromptPane.Refused)
    def _refused(self, event: PromptPane.Refused) -> None:
        self.notify_line(event.line, "warning")

    @on(TurnRunner.SavingChanged)
    def _saving_changed(self, event: TurnRunner.SavingChanged) -> None:
        self.saving.show(event.news)

    @on(TurnRunner.SessionLost)
    def _session_lost(self) -> None:
        self.run_worker(opening.drop_to_mirror(self), group="opening")

    @on(Composer.TranscriptMoved)
    def _transcript_moved(self, event: Composer.TranscriptMoved) -> None:
        if event.pages:
            self.transcript.scroll_relative(y=event.pages * (self.transcript.size.height - 2), animate=False)
        else:
            self.run_worker(self.history.to_end(), group="history")

    def action_end(self) -> None:
        """Go to the end of the conversation."""
        self.run_worker(self.history.to_end(), group="history")

    async def action_find(self) -> None:
        """Look for words in the conversation."""
        await self.history.find()

    def action_turn(self, step: int) -> None:
        """Go to the question above (-1) or below (1)."""
        self.run_worker(self.history.to_question(step), group="history")

    def action_command(self, line: str) -> None:
        """Carry out a slash command."""
        self.run_worker(COMMANDS.run(self, line), group="command")

    def action_demo(self) -> None:
        """Talk to the small demo model in this process."""
        self.run_worker(use_demo(self), group="opening", exclusive=True)

    def action_escape(self) -> None:
        """End a search; else stop the turn; else drop the newest prompt that is held back.

        Who presses twice to be sure of the stop drops nothing.
        """
        if self.history.end_find():
            return
        if self.busy:
            self._stopped_until = monotonic() + AGAIN_SECONDS
            self.run_worker(self.turns.stop(), group="stop")
        elif monotonic() >= self._stopped_until and self.composing.drop_held():
            self._changed()

    def action_copy_answer(self) -> None:
        """Copy the last answer as Markdown."""
        self.run_worker(self.copying.last_answer(), group="copying")

    @on(Composer.Interrupted)
    def action_interrupt(self) -> None:
        """Ctrl+C: copy a selection, stop a turn, clear a draft; else leave when pressed twice."""
        selected = self.get_selected_text()
        if selected:
            self.copying.text(selected, "What was selected")
            self.clear_selection()
        elif self.busy:
            self.run_worker(self.turns.stop(), group="stop")
        elif not self.pane.clear_draft():
            if monotonic() < self._again_until:
                self.run_worker(self.leave(), group="leave")
            self._again_until = monotonic() + AGAIN_SECONDS
            self.show_facts("ctrl+c again to quit")
            self.set_timer(AGAIN_SECONDS, self.show_facts)
            return
        self._again_until = 0.0

    def note_draft(self) -> None:
        """What is typed and queued is to be kept."""
        self.drafts.note(self.conversation)

    async def _keep_draft(self) -> None:
        """Save what is unsent now, unless the database keeps us waiting."""
        self.note_draft()
        await asyncio.wait({asyncio.create_task(self.drafts.save())}, timeout=KEEP_SECONDS)

    def _unsent(self) -> Draft:
        prompt = self.pane.prompt
        return Draft(prompt.text, self.turns.queue.unsent, prompt.pictures)
