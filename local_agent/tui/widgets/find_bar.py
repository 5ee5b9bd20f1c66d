"""One line to say what is looked for in the conversation, and to step through what was found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Input, Static

from local_agent.domain.finding import LONGEST
from local_agent.domain.text import one_line
from local_agent.tui.widgets.line_input import LineInput


class FindBar(Horizontal, can_focus=True):
    """Letters are typed until Enter leaves the input; then they step."""

    DEFAULT_CSS = """
    FindBar {
        height: 1;
        padding: 0 2;
        & > #find-label { width: auto; color: $text-primary; text-style: bold; padding: 0 1 0 0; }
        & > LineInput {
            width: 1fr;
            &, &:focus { border: none; padding: 0; height: 1; background: transparent; }
        }
        & > #found { width: auto; max-width: 60%; color: $text-muted; padding: 0 0 0 2; }
        & > #find-keys { display: none; width: auto; color: $text-muted; padding: 0 0 0 2; }
        &:focus > #find-keys { display: block; }
        &:focus > #found { color: $text; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n,enter", "next(1)", "Next", id="find.next"),
        Binding("N,shift+enter", "next(-1)", "The one before", id="find.previous"),
        Binding("up", "step(-1)", "The one above", id="find.above"),
        Binding("down", "step(1)", "The one below", id="find.below"),
        Binding("slash,ctrl+f,tab", "edit", "Type again", id="find.edit"),
        Binding("escape", "close", "Close", id="find.close"),
    ]

    @dataclass
    class Wanted(Message):
        """Other words are looked for now."""

        words: str

    @dataclass
    class Stepped(Message):
        """The place below (1) or above (-1) is wanted."""

        step: int

    class Left(Message):
        """Nothing is looked for any more."""

    def __init__(self, where: str, *, upwards: bool = False) -> None:
        super().__init__()
        self.input = LineInput(placeholder=f"Find in {where}", max_length=LONGEST, compact=True)
        self._forward = -1 if upwards else 1
        self._said = Static(markup=False, id="found")

    def compose(self) -> ComposeResult:
        yield Static("find", markup=False, id="find-label")
        yield self.input
        yield Static("n next, N back, / other words", markup=False, id="find-keys")
        yield self._said

    def say(self, text: str, style: str = "") -> None:
        """Show a few words at the right."""
        self._said.update(Content.styled(text, style))

    def open(self, words: str = "") -> None:
        """Take the keys; ``words``, when given, are looked for at once."""
        # Not later, as ``focus`` would: the next key may be there already.
        self.screen.set_focus(self.input)
        if words:
            self.input.value = one_line(words[:LONGEST])
            self.input.cursor_position = len(self.input.value)
        else:
            self.input.action_select_all()

    @on(Input.Changed)
    def _changed(self, event: Input.Changed) -> None:
        event.stop()
        self.post_message(self.Wanted(self.input.value))

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        """Leave the input; the first Enter stays at what typing has found."""
        event.stop()
        if self.input.value:
            self.focus()

    def action_next(self, times: int) -> None:
        self.post_message(self.Stepped(self._forward * times))

    def action_step(self, step: int) -> None:
        self.post_message(self.Stepped(step))

    def action_edit(self) -> None:
        self.input.focus()

    def action_close(self) -> None:
        self.post_message(self.Left())
