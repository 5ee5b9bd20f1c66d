"""Files are looked at or put back, which takes long: how far that is, and a key that stops it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.bar import Bar
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.panel import Panel

TICK_SECONDS = 0.1


class RestoringScreen(ModalScreen[None]):
    """Up until ``end`` is called. Esc sets ``stop``, if there is one; ``typed`` gets what else is typed."""

    AUTO_FOCUS = ""
    CSS_PATH = "restoring.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "stop here", id="restoring.stop")]

    def __init__(
        self,
        what: str,
        stop: asyncio.Event | None,
        typed: Callable[[str], object],
        *,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self._what = one_line(what)
        self._stop = stop
        self._typed = typed
        self._glyphs = glyphs
        self._bar = Bar(glyphs)
        self._line = Static(id="line", markup=False)
        self._done = (0, 0)
        self._ended = asyncio.Event()

    def compose(self) -> ComposeResult:
        with Panel():
            yield Static(Content.styled(self._what, "bold"), id="heading", markup=False)
            yield self._bar
            yield self._line
            yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._draw()
        self.set_interval(TICK_SECONDS, self._draw)
        self.run_worker(self._wait(), group="wait")

    def note(self, done: int, total: int) -> None:
        """So many of so many files are done; from any thread."""
        self._done = done, total

    def on_key(self, event: events.Key) -> None:
        if event.is_printable and event.character is not None:
            event.stop()
            self._typed(event.character)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "stop" or self._stop is not None

    def action_stop(self) -> None:
        """Stop behind the file at hand."""
        if self._stop is not None:
            self._stop.set()
        self._draw()

    def end(self) -> None:
        """It is over, be it before the screen has come up."""
        self._ended.set()

    async def _wait(self) -> None:
        await self._ended.wait()
        self.dismiss(None)

    def _draw(self) -> None:
        done, total = self._done
        self._bar.share = done / total if total else 0.0
        words = f"{done:,} of {total:,} files" if total else "one moment"
        if self._stop is not None and self._stop.is_set():
            words = f"{words} {self._glyphs.dot} stopping"
        self._line.update(Content.styled(words, "$text-muted"))
