"""Fetching a model: which one, how far it is, and a way to stop, to wait elsewhere and to go on."""

from __future__ import annotations

from time import monotonic
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.models.pull_meter import so_far
from local_agent.tui.models.pulls import Pull, Pulls, PullStage
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.bar import Bar
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.panel import Panel

TICK_SECONDS = 0.2


class PullScreen(ModalScreen[str | None]):
    """Gives the name of a model that is here now and is to be used; else None.

    A pull that still runs when it closes goes on.
    """

    AUTO_FOCUS = ""
    CSS_PATH = "pull.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "begin", "fetch it", id="pull.begin", priority=True),
        Binding("enter", "hide", "hide", id="pull.hide", priority=True),
        Binding("enter", "again", "go on", id="pull.again", priority=True),
        Binding("enter", "use", "use it", id="pull.use", priority=True),
        Binding("escape", "stop", "stop", id="pull.stop"),
        Binding("escape", "close", "close", id="pull.close"),
    ]

    def __init__(
        self, pulls: Pulls, pull: Pull | None = None, *, name: str = "", glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.pull = pull
        self.name_input = LineInput(name, id="pull-name", placeholder="such as qwen3:4b", compact=True)
        self._pulls = pulls
        self._glyphs = glyphs
        self._heading = Static(id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._detail = Static(id="detail", markup=False)
        self._bar = Bar(glyphs)
        self._shown: PullStage | None = None

    def compose(self) -> ComposeResult:
        with Panel():
            yield self._heading
            yield self.name_input
            yield self._bar
            yield self._line
            yield self._detail
            yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.set_interval(TICK_SECONDS, self._look)
        if self.pull is None:
            self.add_class("-asking")
            self.name_input.focus()
            self._heading.update(Content.styled("Fetch a model", "bold"))
            self._say("It comes from ollama.com, or from the host that its name begins with.")
        else:
            self._look()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        stage = self.pull.stage if self.pull is not None else None
        match action:
            case "begin":
                return stage is None
            case "hide" | "stop":
                return stage is PullStage.RUNNING
            case "again":
                return stage in (PullStage.STOPPED, PullStage.FAILED)
            case "use":
                return stage is PullStage.DONE
            case "close":
                return stage is not PullStage.RUNNING
            case _:
                return True

    async def action_begin(self) -> None:
        from local_agent.llm.pull import checked_name

        await catch_up_typing(self.name_input, self)

        try:
            name = checked_name(self.name_input.value)
        except LocalAgentError as error:
            self._say(str(error), "$text-warning")
            return
        self.remove_class("-asking")
        self._follow(self._pulls.begin(name))

    def action_again(self) -> None:
        if self.pull is not None:
            self._follow(self._pulls.begin(self.pull.name))

    def action_stop(self) -> None:
        if self.pull is not None:
            self._pulls.stop(self.pull)
            self._look()

    def action_hide(self) -> None:
        self.dismiss(None)

    def action_close(self) -> None:
        if self.pull is not None:
            self._pulls.forget(self.pull.name)
        self.dismiss(None)

    def action_use(self) -> None:
        if self.pull is not None:
            self._pulls.forget(self.pull.name)
            self.dismiss(self.pull.name)

    def _follow(self, pull: Pull) -> None:
        self.pull, self._shown = pull, None
        self.set_focus(None)
        self._look()

    def _look(self) -> None:
        """Draw where the pull stands; what is over is drawn once."""
        pull = self.pull
        if pull is None or (pull.stage is self._shown and not pull.running):
            return
        if pull.stage is not self._shown:
            self._shown = pull.stage
            self.refresh_bindings()
        meter = pull.meter
        name = one_line(pull.name)
        self._bar.share = 1.0 if pull.stage is PullStage.DONE else meter.share
        match pull.stage:
            case PullStage.RUNNING:
                self._head("Fetching", name)
                self._say(f" {self._glyphs.dot} ".join(meter.parts(monotonic())) or "asking", "")
                self._detail.update(Content.styled(meter.layer_line(), "$text-muted"))
            case PullStage.DONE:
                self._head("It is here:", name)
                self._say(f"{self._glyphs.ok} complete and checked", "$text-success")
                self._detail.update("")
            case PullStage.STOPPED:
                self._head("Stopped:", name)
                here = f"{so_far(meter.done, meter.total)} " if meter.total else "What has come "
                self._say(f"{here}stays on the server: it goes on from there, also another day.", "")
                self._detail.update("")
            case PullStage.FAILED:
                self._head("It did not come:", name)
                problem = pull.problem
                self._say(problem.line if problem is not None else "", "$text-error")
                self._detail.update(Content.styled(one_line(problem.hint if problem else ""), "$text-muted"))

    def _head(self, what: str, name: str) -> None:
        self._heading.update(Content.assemble((what, "bold"), " ", (name, "bold $text-primary")))

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
