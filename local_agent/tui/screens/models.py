"""The model picker: what the server has, what of it fits here, narrowed as you type."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import ClassVar, NamedTuple, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import ServerState, full_name
from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.model_list import Inventory, Listed, arranged, found
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.model_details import Details, details_lines
from local_agent.tui.widgets.model_row import ModelRow
from local_agent.tui.widgets.row_list import Row, RowList, fit
from local_agent.tui.widgets.typeset_view import TypesetView

TICK_SECONDS = 0.2
DETAILS_SECONDS = 0.15
"""How long a choice rests before the server is asked for more of it."""


class ModelSource(Protocol):
    """What the picker asks for, and may do."""

    async def look(self) -> Inventory:
        """What there is now; a server that does not answer is a state. Raises ``LocalAgentError``."""

    async def details(self, model: Listed) -> Details:
        """Everything known of one model. Raises ``LocalAgentError``."""

    async def unload(self, name: str) -> None:
        """Free the memory that it takes. Raises ``LocalAgentError``."""

    def pullable(self, name: str) -> str:
        """The name as a pull would take it; empty where nothing can be called so."""

    @property
    def suggested(self) -> str:
        """A model for a first pull, that fits this machine."""


class Picked(NamedTuple):
    """What was chosen."""

    name: str
    here: bool = True
    """False for one that has to be fetched first."""


class ModelsScreen(Screen[Picked | None]):
    """Gives what was chosen, or None.

    ``known`` is shown while the server is asked: the model that answers now. ``typed`` is in the filter
    from the start.
    """

    CSS_PATH = "models.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "use it", id="models.choose", priority=True),
        Binding("enter", "fetch", "pull it", id="models.fetch", priority=True),
        Binding("f2", "details", "details", id="models.details"),
        Binding("f4", "pull", "pull", id="models.pull"),
        Binding("f8", "unload", "unload", id="models.unload"),
        Binding("f5", "look", "look again", id="models.look"),
        Binding("escape", "close", "close", id="models.close"),
        Binding("up", "move('cursor_up')", "Up", show=False),
        Binding("down", "move('cursor_down')", "Down", show=False),
        Binding("pageup", "move('page_up')", "Page up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", show=False),
        Binding("ctrl+home", "move('first')", "First", show=False),
        Binding("ctrl+end", "move('last')", "Last", show=False),
    ]

    def __init__(
        self,
        source: ModelSource,
        *,
        current: str = "",
        known: Listed | None = None,
        typed: str = "",
        said: str = "",
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self.filter_input = LineInput(
            typed, id="filter", placeholder="a name, a family, or tools, thinking, vision", compact=True
        )
        self.row_list = RowList(glyphs=glyphs)
        self.details_view = TypesetView()
        self._heading = Static(Content.styled("Models", "bold"), id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._source = source
        self._current = current
        self._glyphs = glyphs
        self._all: list[Listed] = [known] if known is not None else []
        self._shown: list[Listed] = []
        self._to_pull = ""
        self._said = said
        self._looked = False
        self._began = 0.0
        self._ticking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        with Horizontal():
            yield self.row_list
            with VerticalScroll(id="details", can_focus=False):
                yield self.details_view
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.filter_input.focus()
        self._narrow()
        self.look()

    @property
    def shown(self) -> tuple[Listed, ...]:
        """The models that match what is typed."""
        return tuple(self._shown)

    @property
    def selected(self) -> Listed | None:
        """The model that the pointer is at; None on a row that pulls, and on none."""
        index = self.row_list.highlighted
        return self._shown[index] if index is not None and index < len(self._shown) else None

    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Ask the server, and show what it has."""
        self._began = monotonic()
        self._wait_on()
        try:
            state, models = await self._source.look()
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        finally:
            self._wait_off()
        self._show_heading(state)
        self._looked = state.reachable
        if not state.reachable:
            self._say(f"{state.problem} {state.hint}".strip(), "$text-error")
            return
        said, self._said = self._said, ""
        self._say(said, "$text-warning")
        self._all = arranged(models)
        self._narrow()

    @on(Input.Changed, "#filter")
    def _typed(self) -> None:
        if self._ticking is None and self._looked:
            self._say("")
        self._narrow(typing=True)

    def _narrow(self, *, typing: bool = False) -> None:
        """Show what matches; the pointer stays on its model unless something is typed."""
        typed = self.filter_input.value.strip()
        kept, index = self.selected, self.row_list.highlighted or 0
        self._shown = found(self._all, typed)
        self._to_pull = self._pullable(typed)
        rows = self.row_list
        rows.set_options([*(self._option(model) for model in self._shown), *self._others(typed)])
        names = [model.name for model in self._shown]
        if typing and typed:
            index = 0
        elif kept is not None and kept.name in names:
            index = names.index(kept.name)
        elif kept is None and self._current in names:
            index = names.index(self._current)
        if names or self._to_pull:
            rows.highlighted = min(index, len(names) + bool(self._to_pull) - 1)
        self._show_details()

    def _pullable(self, typed: str) -> str:
        """What the last row offers to fetch: what is typed and not here, or a first model."""
        if not self._looked:
            return ""
        if not typed:
            return "" if self._all else self._source.suggested
        name = self._source.pullable(typed)
        here = {full_name(model.name) for model in self._all}
        return name if name and full_name(name) not in here else ""

    def _others(self, typed: str) -> list[Option]:
        """What stands below the models."""
        if self._to_pull:
            return [Option(Row(self._pull_row))]
        if self._shown or not self._looked:
            return []
        text = "No model is called so." if typed else "There are no models yet."
        return [Option(Content.styled(f"  {text}", "$text-muted"), disabled=True)]

    def _pull_row(self, width: int) -> Content:
        name = one_line(self._to_pull)
        words = (("pull ", "$text-muted"), (name, "bold"), (" from the library", "$text-muted"))
        return fit(Content.assemble(*words), width)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "fetch":
                return self.selected is None and bool(self._to_pull)
            case "choose" | "details" | "unload":
                return self.selected is not None
            case _:
                return True

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        if self.selected is not None:
            self.action_choose()
        else:
            self.action_fetch()

    def action_choose(self) -> None:
        model = self.selected
        if model is not None and model.info.can_chat:
            self.dismiss(Picked(model.name))
        elif model is not None:
            self._say(f"{model.name} makes embeddings and does not chat.", "$text-warning")

    def action_fetch(self) -> None:
        if self._to_pull:
            self.dismiss(Picked(self._to_pull, here=False))

    def action_pull(self) -> None:
        typed = self.filter_input.value.strip()
        self.dismiss(Picked(self._to_pull or (typed and self._source.pullable(typed)), here=False))

    def action_look(self) -> None:
        self.look()

    def action_details(self) -> None:
        if (model := self.selected) is not None:
            from local_agent.tui.screens.model_details import ModelDetailsScreen

            self.app.push_screen(ModelDetailsScreen(self._source, model, glyphs=self._glyphs))

    @work(group="unload", exclusive=True)
    async def action_unload(self) -> None:
        model = self.selected
        if model is None:
            return
        if not model.info.loaded:
            self._say(f"{model.name} is not loaded.", "$text-warning")
            return
        self._say(f"unloading {model.name} {self._glyphs.ellipsis}")
        try:
            await self._source.unload(model.name)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
        else:
            self._said = f"{model.name} is unloaded."
            self.look()

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    @on(OptionList.OptionHighlighted)
    def _show_details(self) -> None:
        self.refresh_bindings()
        model = self.selected
        if model is None:
            self.details_view.show(None)
        elif self.has_class("-wide"):
            self._show(Details(model, complete=False))
            self._ask_details(model)

    @work(group="details", exclusive=True)
    async def _ask_details(self, model: Listed) -> None:
        # Waiting here is the debounce: the next choice cancels this worker.
        await asyncio.sleep(DETAILS_SECONDS)
        try:
            details = await self._source.details(model)
        except LocalAgentError:
            details = Details(model)  # the list says what is wrong with the server
        if self.selected == model:
            self._show(details)

    def _show(self, details: Details) -> None:
        self.details_view.show(lambda width: details_lines(details, self._glyphs, width))

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_details)

    def _option(self, model: Listed) -> Option:
        return Option(Row(ModelRow(model, self._glyphs, current=model.name == self._current)))

    def _show_heading(self, state: ServerState) -> None:
        dot = f" {self._glyphs.dot} "
        about = dot + one_line(state.address) + (dot + one_line(state.version) if state.version else "")
        self._heading.update(Content.assemble(("Models", "bold"), (about, "$text-muted")))

    def _wait_on(self) -> None:
        self._wait_off()
        self._tick()
        self._ticking = self.set_interval(TICK_SECONDS, self._tick)

    def _wait_off(self) -> None:
        if self._ticking is not None:
            self._ticking.stop()
            self._ticking = None

    def _tick(self) -> None:
        passed = monotonic() - self._began
        frames = self._glyphs.spinner
        since = f" {self._glyphs.dot} {passed:.0f} s" if passed >= 1 else ""
        self._say(f"{frames[int(passed / TICK_SECONDS) % len(frames)]} asking the server{since}")

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)
