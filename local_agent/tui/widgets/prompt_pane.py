"""The lower part of the main screen: completions, the composer, and what its keys bring back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult, SuspendNotSupported
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.getters import query_one
from textual.message import Message
from textual.widgets import OptionList, Static, TextArea

from local_agent.tui.commands.table import is_command
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.prompt_queue import PromptQueue
from local_agent.tui.recall import Recall
from local_agent.tui.terminal import EditorFailed, Ending, edit_text
from local_agent.tui.widgets.composer import Composer

if TYPE_CHECKING:
    from local_agent.tui.completing import Completing

Questions = Callable[[], Awaitable[Sequence[str]]]
Keep = Callable[[], Awaitable[None]]


class PromptPane(Vertical):
    """Posts a prompt or a command when Enter is pressed, and ``Edited`` whenever the text changes."""

    DEFAULT_CSS = """
    PromptPane {
        height: auto;
        & > Horizontal { height: auto; padding: 0 2; border-top: solid $border-blurred; }
        & #sign { width: 2; height: 1; color: $text-primary; text-style: bold; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "edit", "Write in $VISUAL", id="composer.edit", show=False)
    ]

    @dataclass
    class Prompted(Message):
        """A prompt, whole."""

        text: str

    @dataclass
    class Commanded(Message):
        """A slash command."""

        line: str

    class Edited(Message):
        """The text is another one now."""

    @dataclass
    class Refused(Message):
        """Something that was asked for here can't be done; ``line`` says why."""

        line: str

    composer = query_one(Composer)

    def __init__(
        self, queue: PromptQueue, questions: Questions, keep: Keep, glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.may_suspend = True
        """False while a turn runs: an editor would stop it."""
        self._queue = queue
        self._questions = questions
        self._keep = keep
        self._glyphs = glyphs
        self._recall = Recall()
        self._recalled = ""
        self._completing: Completing | None = None
        """Made when there may be something to complete for the first time."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(self._glyphs.prompt, id="sign", markup=False)
            yield Composer()

    def clear_draft(self) -> bool:
        """Empty the composer; Up brings the text back. False when it was empty."""
        text = self.composer.prompt
        if not text:
            return False
        self._recall.cleared = text
        self.composer.load("")
        return True

    async def action_edit(self) -> None:
        """Write the prompt in the person's editor."""
        if not self.may_suspend:
            self.post_message(self.Refused("The editor would stop the running turn: stop it with Esc first."))
            return
        # While the editor is open nothing of ours runs, and the process may be killed.
        await self._keep()
        try:
            with Ending() as ending, self.app.suspend():
                text = edit_text(self.composer.prompt, ending)
        except (EditorFailed, SuspendNotSupported) as error:
            self.post_message(self.Refused(str(error) or "This terminal can't be lent to an editor."))
        else:
            self.composer.load(text)
        self.app.refresh()

    @on(TextArea.Changed)
    async def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        text = self.composer.text
        if self._recall.active and text != self._recalled:
            self._recall.end()
        await self._look(edited=not self._recall.active)
        self.post_message(self.Edited())

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        self._recall.end()
        if is_command(event.text):
            self.post_message(self.Commanded(event.text))
        else:
            self.post_message(self.Prompted(event.text))

    @on(Composer.RecallWanted)
    async def _recall_wanted(self, event: Composer.RecallWanted) -> None:
        if event.older:
            await self._older()
        else:
            self._put(self._recall.newer())

    async def _older(self) -> None:
        typed = self.composer.prompt
        if not typed and (held := self._queue.take_newest()) is not None:
            self.composer.load(held.text)
            return
        if not self._recall.active:
            self._recall.begin(await self._questions(), typed)
        self._put(self._recall.older())

    @on(TextArea.SelectionChanged)
    async def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        await self._look(edited=False)

    @on(Composer.CompletionMoved)
    async def _completion_moved(self, event: Composer.CompletionMoved) -> None:
        if self._completing is None:
            return
        if event.step:
            self._completing.move(event.step)
        elif (line := await self._completing.take(submit=event.submit)) is not None:
            self.post_message(self.Commanded(line))

    @on(Composer.CompletionClosed)
    async def _completion_closed(self) -> None:
        if self._completing is not None:
            await self._completing.close()

    @on(OptionList.OptionSelected)
    async def _clicked(self, event: OptionList.OptionSelected) -> None:
        if self._completing is not None:
            self._completing.point(event.option_index)
            await self._completion_moved(Composer.CompletionMoved(0, submit=True))

    async def _look(self, *, edited: bool) -> None:
        """Offer what the word at the cursor may become."""
        if self._completing is None:
            if not edited or not {"/", "@"} & set(self.composer.text):
                return
            from local_agent.tui.completing import Completing

            self._completing = Completing(self, self.composer, self._glyphs)
        await self._completing.look(edited=edited)

    def _put(self, text: str | None) -> None:
        if text is not None:
            self.composer.load(text)
            self._recalled = self.composer.text
