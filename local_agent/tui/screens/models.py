"""The model picker: what the server has, what of it fits here, narrowed as you type."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.models import ServerState
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.models.model_list import Listed
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.model_browser import ModelBrowser, ModelSource

TICK_SECONDS = 0.2


class Picked(NamedTuple):
    """What was chosen."""

    name: str
    here: bool = True
    """False for one that has to be fetched first; its name may still be asked for."""


class ModelsScreen(Screen[Picked | None]):
    """Gives what was chosen, or None. ``typed`` is in the filter from the start, ``said`` below the list."""

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
        Binding("up", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
        Binding("ctrl+home", "move('first')", "First", show=False, priority=True),
        Binding("ctrl+end", "move('last')", "Last", show=False, priority=True),
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
        self.browser = ModelBrowser(source, current=current, known=known, glyphs=glyphs)
        self.filter_input = LineInput(
            typed, id="filter", placeholder="a name, a family, or tools, thinking, vision", compact=True
        )
        self._heading = Static(Content.styled("Models", "bold"), id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._source = source
        self._glyphs = glyphs
        self._said = said
        self._began = 0.0
        self._ticking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.browser
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.filter_input.focus()
        self.look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "fetch":
                return self.browser.selected is None and bool(self.browser.to_pull)
            case "choose" | "details" | "unload":
                return self.browser.selected is not None
            case _:
                return True

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
        if state.reachable:
            self.browser.show(models)
            said, self._said = self._said, ""
            self._say(said or self._more(), "$text-warning")
        else:
            self._say(f"{state.problem} {state.hint}".strip(), "$text-error")

    @on(Input.Changed, "#filter")
    def _typed(self) -> None:
        self.browser.find(self.filter_input.value)
        if self._ticking is None:
            self._say(self._more())

    @on(ModelBrowser.Moved)
    def _moved(self) -> None:
        self.refresh_bindings()

    @on(ModelBrowser.Opened)
    def _opened(self) -> None:
        model = self.browser.selected
        if model is not None and model.info.can_chat:
            self.dismiss(Picked(model.name))
        elif model is not None:
            self._say(f"{model.name} makes embeddings and does not chat.", "$text-warning")
        elif self.browser.to_pull:
            self.dismiss(Picked(self.browser.to_pull, here=False))

    async def action_choose(self) -> None:
        await catch_up_typing(self.filter_input, self)
        self._opened()

    async def action_fetch(self) -> None:
        await self.action_choose()

    async def action_pull(self) -> None:
        """Fetch what is typed, or ask which."""
        await catch_up_typing(self.filter_input, self)
        typed = self.filter_input.value.strip()
        self.dismiss(Picked(self.browser.to_pull or (typed and self._source.pullable(typed)), here=False))

    def action_look(self) -> None:
        self.look()

    async def action_details(self) -> None:
        await catch_up_typing(self.filter_input, self)
        if (model := self.browser.selected) is not None:
            from local_agent.tui.screens.model_details import ModelDetailsScreen

            self.app.push_screen(ModelDetailsScreen(self._source, model, glyphs=self._glyphs))

    @work(group="unload", exclusive=True)
    async def action_unload(self) -> None:
        await catch_up_typing(self.filter_input, self)
        model = self.browser.selected
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

    async def action_move(self, how: str) -> None:
        await catch_up_typing(self.filter_input, self)
        getattr(self.browser.row_list, f"action_{how}")()

    def _show_heading(self, state: ServerState) -> None:
        dot = f" {self._glyphs.dot} "
        about = dot + one_line(state.address) + (dot + one_line(state.version) if state.version else "")
        self._heading.update(Content.assemble(("Models", "bold"), (about, "$text-muted")))

    def _more(self) -> str:
        more = self.browser.more
        return f"{self._glyphs.ellipsis} {more} more: type a part of the name" if more else ""

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
        moving = self.app.animation_level != "none"
        frames = self._glyphs.spinner if moving else self._glyphs.waiting
        since = f" {self._glyphs.dot} {passed:.0f} s" if passed >= 1 else ""
        self._say(f"{frames[int(passed / TICK_SECONDS) % len(frames)]} asking the server{since}")

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)
