"""The model's answer: one widget, live while it is written and cheap once it is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import ClassVar

from textual.binding import BindingType
from textual.timer import Timer

from local_agent.domain.text import sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.typeset import Typesetter
from local_agent.tui.widgets.markdown_view import MarkdownView
from local_agent.tui.widgets.message_keys import MARK_HINTS, message_keys

FLUSH_SECONDS = 0.08
LARGE = 3_000
"""Characters of a text that is set on a thread."""


class Reply(MarkdownView):
    """Markdown of one answer. ``feed`` and then ``finish`` it, or make it whole with ``prepared``."""

    DEFAULT_CSS = """
    Reply { margin: 0 1 0 2; }
    """
    BINDINGS: ClassVar[list[BindingType]] = message_keys("reply")
    hints = (("f", "fork"), ("c", "copy"), *MARK_HINTS)

    def __init__(self, source: str = "", glyphs: Glyphs = UNICODE) -> None:
        super().__init__(sanitise(source, tabs=True), glyphs)
        self._width = self._wanted = 0
        self._rows: Sequence[Line] = ()
        self._pending: list[str] = []
        self._growing: GrowingMarkdown | None = None
        self._flush_timer: Timer | None = None
        self._setting = asyncio.Lock()
        self._drawn = 0

    @classmethod
    async def prepared(cls, source: str, width: int, glyphs: Glyphs = UNICODE) -> Reply:
        """A settled reply, typeset for ``width`` beforehand, off the event loop when it is large."""
        reply = cls(source, glyphs)
        reply._rows = await _typeset(reply.source, width, glyphs)
        reply._width = width
        return reply

    @property
    def live(self) -> bool:
        """True while more text may come."""
        return self._flush_timer is not None

    def lines_for(self, width: int) -> Sequence[Line]:
        if self._growing is None and not self._rows and self.source:
            self._rows, self._width = Typesetter(width, self._glyphs).typeset(self.source), width
        if width != self._wanted:
            self._wanted = width
            if self.stale:
                self.post_message(self.Outdated())
        return self._rows

    @property
    def stale(self) -> bool:
        return bool(self._rows) and self._wanted != self._width

    async def catch_up(self) -> None:
        async with self._setting:
            width = self._wanted
            if self._growing is not None:
                await self._growing.resize(width)
                self._width = width
                self._draw(self._growing.lines)
            elif self.source:
                self._draw(await _typeset(self.source, width, self._glyphs))
                self._width = width

    def feed(self, text: str) -> None:
        """Add text; it is drawn with the next flush."""
        self._pending.append(text)
        if self._flush_timer is None:
            self._flush_timer = self.set_interval(FLUSH_SECONDS, self._flush)

    async def finish(self) -> None:
        """No more text will come."""
        async with self._setting:
            if self._flush_timer is not None:
                # Only now: stopping it cancels a flush that is under way.
                self._flush_timer.stop()
                self._flush_timer = None
            await self._take_pending()
            growing, self._growing = self._growing, None
            if growing is None:
                # Never laid out: what arrived is set whole when a width is known.
                self.source += sanitise("".join(self._pending), tabs=True)
                self._pending.clear()
            else:
                await growing.finish()
                self._draw(growing.lines)

    async def become(self, source: str) -> None:
        """Show another text in place of what arrived; nothing at all for a blank one."""
        async with self._setting:
            self._growing = None
            self.source, self._width = sanitise(source, tabs=True), self._wanted
            self._draw(await _typeset(self.source, self._width, self._glyphs) if self._width else ())
            self.display = bool(self.source.strip())

    async def _flush(self) -> None:
        async with self._setting:
            await self._take_pending()

    async def _take_pending(self) -> None:
        width = self.size.width
        if not self._pending or not width:
            return
        text = "".join(self._pending)
        self._pending.clear()
        if self._growing is None:
            self._growing = GrowingMarkdown(width, self._glyphs)
            self._width = width
        await self._growing.feed(text)
        self.source = self._growing.source
        self._draw(self._growing.lines)

    def _draw(self, rows: Sequence[Line]) -> None:
        self._rows = rows
        grown = len(rows) != self._drawn
        self._drawn = len(rows)
        self.refresh(layout=grown)


async def _typeset(source: str, width: int, glyphs: Glyphs) -> Sequence[Line]:
    typesetter = Typesetter(width, glyphs)
    if len(source) > LARGE:
        return await asyncio.to_thread(typesetter.typeset, source)
    return typesetter.typeset(source)
