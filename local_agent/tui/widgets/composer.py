"""Where the person writes: a text area that sends on Enter and grows with its text."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.message import Message

from local_agent.tui.widgets.pasting_area import PastingArea

TAKING_SECONDS = 2.0
"""Limit of the wait for a completion to be written."""


class Composer(PastingArea):
    """Posts what the person decides; it sends, recalls and completes nothing by itself."""

    DEFAULT_CSS = """
    Composer {
        width: 1fr;
        height: auto;
        min-height: 1;
        max-height: 33vh;
        padding: 0;
        border: none;
        background: transparent;
        scrollbar-size-vertical: 1;
        & .text-area--placeholder { color: $text-muted; }
        &:focus { border: none; background: transparent; background-tint: transparent 0%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "submit", "Send", id="composer.send", show=False),
        Binding(
            "shift+enter,ctrl+j,alt+enter", "newline", "Break the line", id="composer.newline", show=False
        ),
        Binding("tab", "complete", "Complete", id="composer.complete", show=False),
        Binding("escape", "close_completion", "Close", id="composer.close", show=False),
        Binding("alt+o", "open_paste", "Open a folded paste", id="composer.paste", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """Enter was pressed; ``text`` is whole, pastes included. Blank only where ``may_be_blank``."""

        text: str

    @dataclass
    class RecallWanted(Message):
        """Up on the first row (older), or Down on the last one."""

        older: bool

    @dataclass
    class CompletionMoved(Message):
        """A key for the list of completions: ``step`` rows up or down."""

        step: int

    @dataclass
    class CompletionTaken(Message):
        """The chosen row is to be written. No further key is read until ``done`` is set, since what follows
        belongs behind it, or to the next prompt.
        """

        submit: bool
        done: asyncio.Event

    class BackspacedOut(Message):
        """Backspace, and there is nothing left of the cursor."""

    class UndoWanted(Message):
        """Ctrl+Z while ``undo_outside`` is true."""

    class SentTooEarly(Message):
        """Enter while ``unready`` is true."""

    class CompletionClosed(Message):
        """Escape closes the list of completions."""

    class Interrupted(Message):
        """Ctrl+C with nothing selected here."""

    @dataclass
    class TranscriptMoved(Message):
        """A key that moves nothing here: ``pages`` up or down, or 0 for the end."""

        pages: int

    def __init__(self) -> None:
        super().__init__("Ask anything, or / for commands")
        self.completing = False
        """True while a list of completions is open: Up, Down, Tab, Enter and Escape go to it."""
        self.undo_outside = False
        """True while what was done last was done to something else than the text."""
        self.may_be_blank = False
        """True while something else is there to be sent."""
        self.unready = False
        """True while something that goes along is not there yet: nothing is sent."""
        self.parked = False
        """True while a question stands in its place: Enter was not meant for it."""
        self.just_back = False
        """True right after that, until something is typed here."""

    def settle_in(self) -> None:
        """Enter sends again, whatever is typed."""
        self.just_back = False

    def go_to_first_row_end(self) -> None:
        """Where a further Up means more than another row."""
        self.move_cursor(self.navigator.get_location_end((0, 0)))

    async def _on_key(self, event: events.Key) -> None:
        """Send, break and complete in the order of the keys.

        A binding acts when its key has bubbled up to the app, and a priority binding before the keys
        ahead of it have reached the text: either way a burst of keys would be taken out of order.
        """
        if event.is_printable:
            self.just_back = False
        match event.key:
            case "enter":
                await self.action_submit()
            case "shift+enter" | "ctrl+j" | "alt+enter":
                self.action_newline()
            case "tab" if self.completing or self.text:
                # The list may not be there yet; and a slip in the middle of a word takes nobody elsewhere.
                await self.action_complete()
            case key if key.startswith("alt+"):
                # TextArea would write the letter.
                event.prevent_default()
                return
            case _:
                return
        event.stop()
        event.prevent_default()

    async def action_submit(self) -> None:
        """Send the text, or take the completion that is chosen."""
        if self.completing and not (self.parked or self.just_back):
            await self._take_completion(submit=True)
        else:
            self.submit()

    def submit(self) -> None:
        """Send the text as it is."""
        if self.parked or self.just_back:
            return
        if self.unready and not self.text.startswith("/"):
            self.post_message(self.SentTooEarly())
        elif self.may_be_blank or self.text.strip():
            # Told first, so that whoever keeps it has it before it is gone from here; emptied at once,
            # because keys that follow in the same breath belong to the next prompt.
            self.post_message(self.Submitted(self.prompt))
            self.load("")

    def action_newline(self) -> None:
        """Break the line."""
        self.replace("\n", *self.selection, maintain_selection_offset=False)

    async def action_complete(self) -> None:
        """Write the chosen completion; with nothing to complete, go to the conversation."""
        if self.completing or self.text:
            await self._take_completion(submit=False)
        else:
            # The conversation ends above: its last part is the nearest.
            self.screen.focus_previous()

    def action_close_completion(self) -> None:
        """Close the list of completions."""
        if not self.completing:
            raise SkipAction
        self._tell_list(self.CompletionClosed())

    def action_copy(self) -> None:
        """Copy what is selected here; else Ctrl+C means more than copying."""
        if self.selected_text:
            super().action_copy()
        else:
            self.post_message(self.Interrupted())

    def action_undo(self) -> None:
        if self.undo_outside:
            self.post_message(self.UndoWanted())
        else:
            super().action_undo()

    def action_cursor_up(self, select: bool = False) -> None:
        if self.completing:
            self._tell_list(self.CompletionMoved(-1))
        elif not select and self.navigator.is_first_wrapped_line(self.cursor_location):
            self.post_message(self.RecallWanted(older=True))
        else:
            super().action_cursor_up(select)

    def action_cursor_down(self, select: bool = False) -> None:
        if self.completing:
            self._tell_list(self.CompletionMoved(1))
        elif not select and self.navigator.is_last_wrapped_line(self.cursor_location):
            self.post_message(self.RecallWanted(older=False))
        else:
            super().action_cursor_down(select)

    def action_cursor_page_up(self) -> None:
        if self.max_scroll_y:
            super().action_cursor_page_up()
        else:
            self.post_message(self.TranscriptMoved(-1))

    def action_cursor_page_down(self) -> None:
        if self.max_scroll_y:
            super().action_cursor_page_down()
        else:
            self.post_message(self.TranscriptMoved(1))

    def action_cursor_line_end(self, select: bool = False) -> None:
        if not select and self.cursor_location == self.document.end:
            self.post_message(self.TranscriptMoved(0))
        super().action_cursor_line_end(select)

    def action_delete_left(self) -> None:
        if self.selection.is_empty and self.cursor_location == (0, 0):
            self.post_message(self.BackspacedOut())
        super().action_delete_left()

    def _tell_list(self, message: Message) -> None:
        """Past our own queue, which stands still while a row is taken."""
        if self.parent is not None:
            self.parent.post_message(message)

    async def _take_completion(self, *, submit: bool) -> None:
        done = asyncio.Event()
        self._tell_list(self.CompletionTaken(submit, done))
        with suppress(TimeoutError):
            # Nobody answers while the screen is being closed.
            await asyncio.wait_for(done.wait(), TAKING_SECONDS)
