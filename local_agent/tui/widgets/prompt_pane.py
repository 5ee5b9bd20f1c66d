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

from local_agent.domain.drafts import Prompt
from local_agent.tui.commands.table import is_command
from local_agent.tui.device.terminal import EditorFailed, Ending, edit_text
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.prompt.attachments import Attachments
from local_agent.tui.prompt.prompt_queue import PromptQueue
from local_agent.tui.prompt.recall import Recall
from local_agent.tui.widgets.composer import Composer

if TYPE_CHECKING:
    from local_agent.domain.pictures import Picture
    from local_agent.tui.prompt.completing import Completing
    from local_agent.tui.widgets.picture_strip import PictureStrip

Questions = Callable[[int], Awaitable[Sequence[str]]]
Keep = Callable[[], Awaitable[None]]


class PromptPane(Vertical):
    """Posts a prompt or a command when Enter is pressed, and ``Edited`` whenever the text changes."""

    DEFAULT_CSS = """
    PromptPane {
        height: auto;
        & > Horizontal { height: auto; padding: 0 2; border-top: solid $border-blurred; }
        /* Beside a height in rows the bound of the composer's would count for nothing. */
        & #sign { width: 2; height: auto; color: $text-primary; text-style: bold; }
        &.-command #sign { color: $text-warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+g", "edit", "Write in $VISUAL", id="composer.edit", show=False),
        Binding("ctrl+up", "app.focus_previous", "Go up to the answer", id="composer.leave", show=False),
        # Elsewhere on the screen it goes to what is above.
        Binding("shift+tab", "screen.command('/mode')", "Next mode", id="composer.mode", show=False),
    ]

    @dataclass
    class Prompted(Message):
        """It was sent."""

        prompt: Prompt

    @dataclass
    class Commanded(Message):
        """A slash command."""

        line: str

    class Edited(Message):
        """The text or its pictures are others now."""

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
        self._attached = Attachments()
        self._strip: PictureStrip | None = None
        """Mounted with the first picture."""
        self._completing: Completing | None = None
        """Made when there may be something to complete for the first time."""

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield Static(self._glyphs.prompt, id="sign", markup=False)
            yield Composer()

    @property
    def prompt(self) -> Prompt:
        """What would be sent now."""
        return Prompt(self.composer.prompt, self._attached.pictures)

    def load(self, prompt: Prompt) -> None:
        """Replace text and pictures."""
        self._attached.replace(prompt.pictures)
        self.composer.load(prompt.text)
        self._show_pictures()

    def put_before(self, earlier: Prompt) -> None:
        """Go on with what was left unsent, and behind it with what has been typed meanwhile."""
        now = self.prompt
        text = "\n\n".join(text for text in (earlier.text, now.text) if text.strip())
        self.load(Prompt(text, (*earlier.pictures, *now.pictures)))

    def clear_draft(self) -> bool:
        """Empty the composer; Up brings it back. False when it was empty."""
        prompt = self.prompt
        if prompt.empty and not prompt.text:
            return False
        self.let_go(prompt)
        self._queue.forget_place()
        self.load(Prompt(""))
        return True

    def let_go(self, prompt: Prompt) -> None:
        """Something takes its place: Up brings it back."""
        if not prompt.empty:
            self._recall.let_go(prompt)

    def attach(self, *pictures: Picture, pasted: str = "") -> None:
        """They go along from now on; in place of the words that were ``pasted`` for them."""
        if pasted and not self.composer.cut_out(pasted):
            pasted = ""
        self._attached.add(*pictures, pasted=pasted)
        self._show_pictures()
        self.post_message(self.Edited())

    def detach_all(self) -> int:
        """Take all pictures away; how many there were."""
        count = 0
        while self._attached.remove_last():
            count += 1
        self._show_pictures()
        self.post_message(self.Edited())
        return count

    def checking(self, name: str, *, over: bool = False) -> None:
        """A file is being looked at; nothing is sent until that is over."""
        if over:
            self._attached.end(name)
        else:
            self._attached.begin(name)
        self._show_pictures()

    def _show_pictures(self) -> None:
        attached, composer = self._attached, self.composer
        composer.may_be_blank = bool(attached.pictures)
        composer.unready = bool(attached.checking)
        composer.undo_outside = attached.undoable
        if self._strip is None:
            if not (attached.pictures or attached.checking):
                return
            from local_agent.tui.widgets.picture_strip import PictureStrip

            self._strip = PictureStrip(self._glyphs)
            self.mount(self._strip, before=self.query_one(Horizontal))
        self._strip.show(attached.pictures, attached.checking)

    async def action_edit(self) -> None:
        """Write the prompt in the person's editor."""
        if not self.may_suspend:
            self.post_message(self.Refused("The editor would stop the running turn: stop it with Esc first."))
            return
        if (text := await self._edited(self.composer.prompt)) is not None:
            self.composer.rewrite(text)

    async def _edited(self, text: str) -> str | None:
        """What the person's editor makes of a text; None when it does not come to that."""
        # While the editor is open nothing of ours runs, and the process may be killed.
        await self._keep()
        try:
            with Ending() as ending, self.app.suspend():
                return edit_text(text, ending)
        except (EditorFailed, SuspendNotSupported) as error:
            self.post_message(self.Refused(str(error) or "This terminal can't be lent to an editor."))
            return None
        finally:
            self.app.refresh()

    @on(Composer.PasteOpened)
    def _paste_opened(self, event: Composer.PasteOpened) -> None:
        from local_agent.tui.screens.paste import PasteAnswer, PasteScreen

        async def answered(answer: PasteAnswer | None) -> None:
            text = answer.text if answer is not None else None
            if answer is not None and answer.in_editor:
                text = await self._edited(answer.text)
            if text is not None:
                self.composer.replace_paste(event.token, text)

        opened = PasteScreen(event.text, may_edit=self.may_suspend, glyphs=self._glyphs)
        self.app.push_screen(opened, answered)

    @on(Composer.BackspacedOut)
    def _backspaced_out(self) -> None:
        if self.composer.text or not self._attached.remove_last():
            return
        self._show_pictures()
        self.post_message(self.Edited())

    @on(Composer.UndoWanted)
    def _undo_wanted(self) -> None:
        self._attached.undo()
        self._show_pictures()
        self.post_message(self.Edited())

    @on(Composer.SentTooEarly)
    def _sent_too_early(self) -> None:
        self.notify("The picture is still being checked: one moment.", markup=False)

    @on(TextArea.Changed)
    async def _changed(self, event: TextArea.Changed) -> None:
        event.stop()
        text = self.composer.text
        self.set_class(text.startswith("!"), "-command")
        if self._recall.active and text != self._recalled:
            self._recall.end()
        if text and (self._attached.text_is(text) or self.composer.undo_outside):
            self._show_pictures()
        await self._look(edited=not self._recall.active)
        self.post_message(self.Edited())

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        from local_agent.domain.own_command import MARK  # not before the first paint

        self._recall.end()
        if is_command(event.text):
            self.post_message(self.Commanded(event.text))
        elif event.text.strip() == MARK and not self._attached.pictures:
            self.load(Prompt(event.text))
            self.post_message(self.Refused("Type a command behind the !, such as !git status."))
        else:
            prompt = Prompt(event.text, self._attached.pictures)
            self._attached.replace(())
            self._show_pictures()
            self.post_message(self.Prompted(prompt))

    @on(Composer.RecallWanted)
    async def _recall_wanted(self, event: Composer.RecallWanted) -> None:
        if event.older:
            await self._older()
        else:
            self._put(self._recall.newer())

    async def _older(self) -> None:
        typed = self.prompt
        if typed.empty and (held := self._queue.take_newest()) is not None:
            self.load(held)
            return
        if (count := self._recall.wanted) is not None:
            self._recall.take(await self._questions(count), count, typed)
        older = self._recall.older()
        self._put(older)
        if older is not None:
            # The next Up goes on from here, and Down through the rows of a long one.
            self.composer.go_to_first_row_end()

    @on(TextArea.SelectionChanged)
    async def _cursor_moved(self, event: TextArea.SelectionChanged) -> None:
        event.stop()
        await self._look(edited=False)

    @on(Composer.CompletionMoved)
    def _completion_moved(self, event: Composer.CompletionMoved) -> None:
        if self._completing is not None:
            self._completing.move(event.step)

    @on(Composer.CompletionTaken)
    async def _completion_taken(self, event: Composer.CompletionTaken) -> None:
        try:
            await self._take(submit=event.submit)
        finally:
            event.done.set()

    async def _take(self, *, submit: bool) -> None:
        if self._completing is None:
            return
        if (line := await self._completing.take(submit=submit)) is not None:
            self.post_message(self.Commanded(line))

    @on(Composer.CompletionClosed)
    @on(Composer.Pasted)
    async def _completion_closed(self) -> None:
        if self._completing is not None:
            await self._completing.close()

    @on(OptionList.OptionSelected)
    async def _clicked(self, event: OptionList.OptionSelected) -> None:
        if self._completing is not None:
            self._completing.point(event.option_index)
            await self._take(submit=True)

    async def _look(self, *, edited: bool) -> None:
        """Offer what the word at the cursor may become."""
        if self._completing is None:
            if not {"/", "@"} & set(self.composer.text):
                return
            from local_agent.tui.prompt.completing import Completing

            self._completing = Completing(self, self.composer, self._glyphs)
        await self._completing.look(edited=edited)

    def _put(self, prompt: Prompt | None) -> None:
        if prompt is not None:
            self.load(prompt)
            self._recalled = self.composer.text
