"""The model picker: what the server has, narrowed as you type."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import ModelInfo, ServerState
from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.model_row import ModelRow
from local_agent.tui.widgets.row_list import Row, RowList


class ModelsScreen(Screen[str | None]):
    """Gives the name of a model, or None."""

    CSS_PATH = "models.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "use it from now on", id="models.choose", priority=True),
        Binding("f5", "look", "look again", id="models.look"),
        Binding("escape", "close", "close", id="models.close"),
        Binding("up", "move('cursor_up')", "Up", show=False),
        Binding("down", "move('cursor_down')", "Down", show=False),
        Binding("pageup", "move('page_up')", "Page up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", show=False),
    ]

    def __init__(
        self,
        load: Callable[[], Awaitable[ServerState]],
        *,
        current: str = "",
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self.filter_input = LineInput(id="filter", placeholder="type a part of its name", compact=True)
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Models", "bold"), id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._load = load
        self._current = current
        self._glyphs = glyphs
        self._all: tuple[ModelInfo, ...] = ()
        self._shown: list[ModelInfo] = []

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.row_list
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.filter_input.focus()
        self.look()

    @property
    def shown(self) -> tuple[ModelInfo, ...]:
        """The models that match what is typed."""
        return tuple(self._shown)

    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Ask the server, and show what it has."""
        self._say(f"looking {self._glyphs.ellipsis}")
        try:
            state = await self._load()
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._show_heading(state)
        self._all = tuple(sorted(state.models, key=lambda model: (not model.loaded, model.name)))
        if not state.reachable:
            self._say(state.problem or f"Nothing answers at {state.address}.", "$text-error")
        elif not state.models:
            self._say("There are no models yet: `ollama pull qwen3:4b` gets one.", "$text-warning")
        else:
            self._say("")
        self._narrow()

    @on(Input.Changed, "#filter")
    def _narrow(self) -> None:
        typed = self.filter_input.value.lower().split()
        self._shown = [model for model in self._all if all(word in model.name.lower() for word in typed)]
        rows = self.row_list
        rows.set_options(self._option(model) for model in self._shown)
        names = [model.name for model in self._shown]
        if names:
            rows.highlighted = names.index(self._current) if self._current in names else 0
        elif self._all:
            rows.add_option(Option(Content.styled("  No model is called so.", "$text-muted"), disabled=True))

    @on(OptionList.OptionSelected)
    def action_choose(self) -> None:
        index = self.row_list.highlighted
        if index is None or index >= len(self._shown):
            return
        model = self._shown[index]
        if model.can_chat:
            self.dismiss(model.name)
        else:
            self._say(f"{model.name} makes embeddings and does not chat.", "$text-warning")

    def action_look(self) -> None:
        self.look()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def _option(self, model: ModelInfo) -> Option:
        return Option(Row(ModelRow(model, self._glyphs, current=model.name == self._current)))

    def _show_heading(self, state: ServerState) -> None:
        dot = f" {self._glyphs.dot} "
        about = dot + one_line(state.address) + (dot + one_line(state.version) if state.version else "")
        self._heading.update(Content.assemble(("Models", "bold"), (about, "$text-muted")))

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)
