"""A question over the transcript: what it is about, and its answers, the safe one chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Generic, TypeVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.screen import ModalScreen
from textual.timer import Timer
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.text import one_line
from local_agent.tui.device.attention import Asked
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.panel import Panel
from local_agent.tui.widgets.row_list import Row, RowList, fit

PANEL_ROWS = 2
"""The line on top and the blank one before the choices."""
PAUSE_SECONDS = 0.4
"""Of no key, before a dialog that has just come up takes one for its answer."""

AnswerT = TypeVar("AnswerT", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Choice(Generic[AnswerT]):
    """One answer. ``key`` is a letter that gives it at once; without one it must be chosen and entered."""

    answer: AnswerT
    label: str
    key: str = ""


class Dialog(ModalScreen[AnswerT]):
    """The first choice is the safe one: it is preselected, and Esc gives it.

    What is being typed when it comes up was meant for what it covers. The pointer appears when it listens.
    """

    AUTO_FOCUS = ""
    CSS_PATH = "dialog.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "answer", id="dialog.accept"),
        Binding("escape", "refuse", "cancel", id="dialog.refuse"),
        Binding("up,left,shift+tab", "move('cursor_up')", "Up", show=False),
        Binding("down,right,tab", "move('cursor_down')", "Down", show=False),
    ]

    preselected: ClassVar[int] = 0
    """The choice that Enter gives at first; another one than the safe one where it was asked for just now."""
    row_list = query_one(RowList)

    def __init__(
        self,
        heading: str,
        body: Sequence[str],
        choices: Sequence[Choice[AnswerT]],
        *,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self._heading = one_line(heading)
        self._body = [one_line(line) for line in body]
        self._choices = tuple(choices)
        self._glyphs = glyphs
        self._pause: Timer | None = None

    @property
    def letters(self) -> frozenset[str]:
        """Those that answer."""
        return frozenset(choice.key for choice in self._choices if choice.key)

    @property
    def listening(self) -> bool:
        """False until no key has come for a moment."""
        return self._pause is None and self.is_mounted

    def compose(self) -> ComposeResult:
        with Panel():
            with VerticalScroll(can_focus=False):
                yield Static(Content.styled(self._heading, "bold"))
                for line in self._body:
                    yield Static(Content.styled(line, "$text-muted"))
            yield RowList(glyphs=self._glyphs)
            yield from self.compose_more()

    def compose_more(self) -> ComposeResult:
        """What a dialog has below its choices."""
        yield from ()

    def on_mount(self) -> None:
        self.row_list.add_options(self._option(number) for number in range(len(self._choices)))
        self.row_list.styles.height = len(self._choices)
        self._pause = self.set_timer(PAUSE_SECONDS, self._listen)
        self.app.post_message(Asked())

    def _listen(self) -> None:
        self._pause = None
        self.row_list.highlighted = self.preselected

    def on_resize(self) -> None:
        self.make_room()

    def make_room(self) -> None:
        """The choices stay in sight however small the terminal: what gives way is the text."""
        padding = self.query_one(Panel).styles.padding.height
        room = self.size.height - len(self._choices) - PANEL_ROWS - padding
        self.query_one(VerticalScroll).styles.max_height = max(room, 1)

    def answer(self, answer: AnswerT) -> None:
        """Close with an answer; a dialog that wants more than a key for one of them asks here."""
        self.dismiss(answer)

    def on_key(self, event: events.Key) -> None:
        if self._pause is not None:
            event.stop()
            self._pause.reset()
            return
        for choice in self._choices:
            if choice.key and (event.character or "").lower() == choice.key:
                event.stop()
                self.answer(choice.answer)
                return

    @on(OptionList.OptionSelected)
    def _clicked(self, event: OptionList.OptionSelected) -> None:
        self.answer(self._choices[event.option_index].answer)

    def action_accept(self) -> None:
        self.answer(self._choices[self.row_list.highlighted or 0].answer)

    def action_refuse(self) -> None:
        self.dismiss(self._choices[0].answer)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def _option(self, number: int) -> Option:
        choice = self._choices[number]
        key = "esc" if number == 0 else choice.key

        def draw(width: int) -> Content:
            room = min(max(width - len(key) - 1, 1), 44)
            return Content.assemble(fit(Content(choice.label), room), (f" {key}", "$text-muted"))

        return Option(Row(draw))
