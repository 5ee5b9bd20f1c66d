"""The prompts that wait: each can be edited, moved and removed, while a turn runs too."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.drafts import Prompt
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.prompt.prompt_queue import PromptQueue
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit

LOOK_SECONDS = 0.2
"""How soon a prompt that was sent meanwhile is gone from the list."""
ROW_CHARACTERS = 300
_STATE = 6


class QueueScreen(Screen[Prompt | None]):
    """Gives the prompt that is to be edited, still in its place, or None."""

    CSS_PATH = "queue.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "edit", "edit", id="queue.edit"),
        Binding("delete,f8", "drop", "remove", id="queue.drop"),
        Binding("ctrl+z", "undo", "undo", id="queue.undo"),
        Binding("alt+up", "earlier", "earlier", id="queue.earlier"),
        Binding("alt+down", "later", "later", id="queue.later"),
        Binding("f5", "release", "send what is held", id="queue.release"),
        Binding("escape", "close", "close", id="queue.close"),
        Binding("up", "move('cursor_up')", "Up", show=False),
        Binding("down", "move('cursor_down')", "Down", show=False),
    ]

    def __init__(
        self, queue: PromptQueue, changed: Callable[[], object], *, glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._queue = queue
        self._changed = changed
        self._glyphs = glyphs
        self._shown: tuple[Prompt, ...] | None = None
        self._removed = 0
        """How many were removed here: that many can be brought back here."""

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.row_list
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._show(0)
        self.set_interval(LOOK_SECONDS, self._look)

    @property
    def selected(self) -> Prompt | None:
        """The prompt the pointer is at."""
        index, shown = self.row_list.highlighted, self._shown or ()
        return shown[index] if index is not None and index < len(shown) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "edit" | "drop" | "earlier" | "later":
                return bool(self._queue)
            case "undo":
                return self._removed > 0
            case "release":
                return bool(self._queue.held)
            case _:
                return True

    @on(OptionList.OptionSelected)
    def action_edit(self) -> None:
        prompt = self.selected
        if prompt is not None and self._still_there(prompt):
            self.dismiss(prompt)

    def action_drop(self) -> None:
        prompt, index = self.selected, self.row_list.highlighted
        if prompt is None or not self._still_there(prompt):
            return
        self._queue.drop(prompt)
        self._removed += 1
        self._show(index or 0)
        self._say("Removed. ctrl+z brings it back here, up in an empty composer later.")
        self._changed()

    def action_undo(self) -> None:
        self._removed -= 1
        if (prompt := self._queue.undo_drop()) is not None:
            self._show(self._place(prompt))
            self._changed()

    def action_earlier(self) -> None:
        self._shift(-1)

    def action_later(self) -> None:
        self._shift(1)

    def _shift(self, step: int) -> None:
        prompt = self.selected
        if prompt is None or not self._still_there(prompt):
            return
        self._queue.move(prompt, step)
        self._show(self._place(prompt))
        self._changed()

    def action_release(self) -> None:
        self._queue.release()
        self._show(0)
        self._changed()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def _look(self) -> None:
        """Keep the pointer at its prompt when others were sent."""
        prompts, selected = self._queue.prompts, self.selected
        if prompts != self._shown:
            self._show(self._place(selected))

    def _place(self, prompt: Prompt | None) -> int:
        """Where it stands now; else where the pointer is."""
        places = (place for place, each in enumerate(self._queue.prompts) if each is prompt)
        return next(places, self.row_list.highlighted or 0)

    def _still_there(self, prompt: Prompt) -> bool:
        there = any(each is prompt for each in self._queue.prompts)
        if not there:
            self._say("It was sent meanwhile.")
        return there

    def _show(self, index: int) -> None:
        self._shown = prompts = self._queue.prompts
        held = len(self._queue.held)
        rows = self.row_list
        rows.set_options(self._option(prompt, number < held) for number, prompt in enumerate(prompts))
        if prompts:
            rows.highlighted = min(index, len(prompts) - 1)
        else:
            nothing = "Nothing waits. What is sent while a reply is written waits here."
            rows.add_option(Option(Content.styled(f"  {nothing}", "$text-muted"), disabled=True))
        about = f" {self._glyphs.dot} {counted(len(prompts), 'prompt')}" if prompts else ""
        self._heading.update(Content.assemble(("Queue", "bold"), (about, "$text-muted")))
        self.refresh_bindings()

    def _option(self, prompt: Prompt, held: bool) -> Option:
        def draw(width: int) -> Content:
            state = Content.styled("held  " if held else "next  ", "$text-warning" if held else "$text-muted")
            pictures = counted(len(prompt.pictures), "picture") if prompt.pictures else ""
            aside = Content.styled(f"  {pictures}" if pictures else "", "$text-muted")
            words = Content(one_line(prompt.text[: 2 * ROW_CHARACTERS], ROW_CHARACTERS))
            return Content.assemble(state, fit(words, width - _STATE - aside.cell_length), aside)

        return Option(Row(draw))

    def _say(self, text: str) -> None:
        self._line.update(Content.styled(text, "$text-muted"))
        self._line.display = bool(text)
