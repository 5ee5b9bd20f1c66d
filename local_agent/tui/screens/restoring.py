"""Files are being put back: how far that is, and a key that stops it."""

from __future__ import annotations

import asyncio
from typing import ClassVar

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

SEEN_AFTER_SECONDS = 0.2
"""What is over sooner is told by its outcome alone."""
TICK_SECONDS = 0.1


class RestoringScreen(ModalScreen[None]):
    """Up until ``end`` is called; no prompt can be typed meanwhile. Esc sets ``stop``."""

    AUTO_FOCUS = ""
    CSS_PATH = "restoring.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "stop", "stop here", id="restoring.stop")]

    def __init__(self, what: str, stop: asyncio.Event, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._what = one_line(what)
        self._stop = stop
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
        self.set_timer(SEEN_AFTER_SECONDS, lambda: self.add_class("-seen"))
        self.set_interval(TICK_SECONDS, self._draw)
        self.run_worker(self._wait(), group="wait")

    def note(self, done: int, total: int) -> None:
        """So many of so many files are done; from any thread."""
        self._done = done, total

    def action_stop(self) -> None:
        """Stop behind the file at hand; what is back stays back."""
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
        words = f"{done:,} of {total:,} files" if total else "looking at the files"
        if self._stop.is_set():
            words = f"{words} {self._glyphs.dot} stopping"
        self._line.update(Content.styled(words, "$text-muted"))
