"""The theme chooser: beside what is on screen, which wears the theme that the pointer is at."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.themes import known_themes
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.panel import Panel
from local_agent.tui.widgets.row_list import Row, RowList, fit

NAME_WIDTH = 11


class ThemesScreen(ModalScreen[str | None]):
    """Gives the name of a theme, or None and the one from before."""

    AUTO_FOCUS = ""
    CSS_PATH = "themes.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "keep it", id="themes.keep"),
        Binding("escape", "refuse", "leave it", id="themes.leave"),
        Binding("up,shift+tab", "move('cursor_up')", "Up", show=False),
        Binding("down,tab", "move('cursor_down')", "Down", show=False),
        Binding("home", "move('first')", "First", show=False),
        Binding("end", "move('last')", "Last", show=False),
        Binding("pageup", "move('page_up')", "Page up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", show=False),
    ]

    def __init__(self, current: str, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._names = tuple(known_themes())
        self._current = current
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        with Panel():
            yield Static(Content.styled("Themes", "bold"))
            yield self.row_list
            yield Static(sample(self._glyphs), id="sample", markup=False)
            yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.row_list.add_options(
            Option(Row(_ThemeRow(name, about, self._glyphs, worn=name == self._current)))
            for name, about in known_themes().items()
        )
        self.row_list.highlighted = self._names.index(self._current) if self._current in self._names else 0

    @on(OptionList.OptionHighlighted)
    def _try_on(self, event: OptionList.OptionHighlighted) -> None:
        self.app.theme = self._names[event.option_index]

    @on(OptionList.OptionSelected)
    def action_accept(self) -> None:
        self.dismiss(self._names[self.row_list.highlighted or 0])

    def action_refuse(self) -> None:
        self.app.theme = self._current
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()


def sample(glyphs: Glyphs) -> Content:
    """Three lines with every colour that means something."""
    return Content.assemble(
        (f"{glyphs.bar} ", "$text-primary"),
        "a question  ",
        ("and its time\n", "$text-muted"),
        (f"{glyphs.ok} done  ", "$text-success"),
        (f"{glyphs.warning} look here  ", "$text-warning"),
        (f"{glyphs.error} failed\n", "$text-error"),
        ("def ", "$code-keyword"),
        ("name", "bold"),
        ("(", ""),
        ("1", "$code-number"),
        (", ", ""),
        ('"text"', "$code-string"),
        (")", ""),
    )


class _ThemeRow:
    """Its name and its character."""

    def __init__(self, name: str, about: str, glyphs: Glyphs, *, worn: bool) -> None:
        self._name = name
        self._about = about
        self._mark = f"{glyphs.bullet} " if worn else "  "

    def __call__(self, width: int) -> Content:
        left = fit(Content.assemble((self._mark, "$text-primary"), self._name), NAME_WIDTH + 2)
        return fit(Content.assemble(left, (self._about, "$text-muted")), width)
