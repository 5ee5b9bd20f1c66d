"""One model, whole: for terminals without room for it beside the list, and for what is too long there."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.models.model_list import Listed
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.model_details import Details, details_lines
from local_agent.tui.widgets.typeset_view import TypesetView

if TYPE_CHECKING:
    from local_agent.tui.widgets.model_browser import ModelSource


class ModelDetailsScreen(Screen[None]):
    """What the list knows at once, and the rest as soon as the server has said it."""

    CSS_PATH = "model_details.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f2", "close", "close", id="model_details.close"),
        Binding("r", "look", "look again", id="model_details.look"),
        Binding("up,k", "scroll('scroll_up')", "Up", show=False),
        Binding("down,j", "scroll('scroll_down')", "Down", show=False),
        Binding("pageup", "scroll('page_up')", "Page up", show=False),
        Binding("pagedown", "scroll('page_down')", "Page down", show=False),
    ]

    def __init__(self, source: ModelSource, model: Listed, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._source = source
        self._model = model
        self._glyphs = glyphs
        self._view = TypesetView()
        self._scroll = VerticalScroll(self._view)
        self._line = Static(id="line", markup=False)

    def compose(self) -> ComposeResult:
        yield self._scroll
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._scroll.focus()
        self._show(Details(self._model, complete=False))
        self.look()

    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Ask the server, and draw what it says."""
        try:
            self._show(await self._source.details(self._model))
        except LocalAgentError as error:
            self._show(Details(self._model))
            self._line.update(Content.styled(one_line(str(error)), "$text-error"))
        self._line.display = bool(self._line.content)

    def action_look(self) -> None:
        self._line.update("")
        self.look()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_scroll(self, how: str) -> None:
        getattr(self._scroll, f"action_{how}")()

    def _show(self, details: Details) -> None:
        self._view.show(lambda width: details_lines(details, self._glyphs, width))
