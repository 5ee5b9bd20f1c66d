"""The model's answer: one widget, live while it is written and cheap once it is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from textual.timer import Timer

from local_agent.domain.text import sanitise
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.lines import Line
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.typeset import Typesetter
from local_agent.tui.widgets.lines_view import LinesView

FLUSH_SECONDS = 0.08
LARGE = 12_000
"""Characters of a reply that is set on a thread when the width changes."""


class Reply(LinesView):
    """Markdown of one answer. ``feed`` and then ``finish`` it, or make it whole with ``prepared``."""

    DEFAULT_CSS = """
    Reply { margin: 0 1 0 2; }
    """

    def __init__(self, source: str = "", glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.source = sanitise(source)
        self._glyphs = glyphs
        self._width = 0
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
        typesetter = Typesetter(width, glyphs)
        if len(reply.source) > LARGE:
            reply._rows = await asyncio.to_thread(typesetter.typeset, reply.source)
        else:
            reply._rows = typesetter.typeset(reply.source)
        reply._width = width
        return reply

    def lines_for(self, width: int) -> Sequence[Line]:
        if width != self._width:
            if self._growing is not None or (self._rows and len(self.source) > LARGE):
                self._width = width
                self.run_worker(self._set_anew(width), group="typeset", exclusive=True)
            elif self.source:
                self._width = width
                self._rows = Typesetter(width, self._glyphs).typeset(self.source)
        return self._rows

    def feed(self, text: str) -> None:
        """Add text; it is drawn with the next flush."""
        self._pending.append(text)
        if self._flush_timer is None:
            self._flush_timer = self.set_interval(FLUSH_SECONDS, self._flush)

    async def finish(self) -> None:
        """No more text will come."""
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        await self._flush()
        async with self._setting:
            growing, self._growing = self._growing, None
            if growing is None:
                # Never laid out: what arrived is set whole when a width is known.
                self.source += sanitise("".join(self._pending))
                self._pending.clear()
                self._width = 0
            else:
                await growing.finish()
                self._draw(growing.lines)

    async def _flush(self) -> None:
        async with self._setting:
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

    async def _set_anew(self, width: int) -> None:
        async with self._setting:
            if self._growing is not None:
                await self._growing.resize(width)
                self._draw(self._growing.lines)
            else:
                typesetter = Typesetter(width, self._glyphs)
                self._draw(await asyncio.to_thread(typesetter.typeset, self.source))

    def _draw(self, rows: Sequence[Line]) -> None:
        self._rows = rows
        grown = len(rows) != self._drawn
        self._drawn = len(rows)
        self.refresh(layout=grown)
