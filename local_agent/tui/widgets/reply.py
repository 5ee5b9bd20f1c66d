"""The model's answer: one widget, live while it is written and cheap once it is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset, Region
from textual.selection import Selection
from textual.timer import Timer
from textual.widget import Widget

from local_agent.domain.text import sanitise
from local_agent.tui.copying import copy
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.lines import Code, Line
from local_agent.tui.markdown.code import COPY
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.inline import HREF, links
from local_agent.tui.markdown.stops import Stop, stops
from local_agent.tui.markdown.typeset import Typesetter
from local_agent.tui.widgets.lines_view import LinesView

FLUSH_SECONDS = 0.08
LARGE = 3_000
"""Characters of a text that is set on a thread."""


class Reply(LinesView, can_focus=True):
    """Markdown of one answer. ``feed`` and then ``finish`` it, or make it whole with ``prepared``.

    With the focus on it, its code is copied and its links are followed by key; a click on them does
    the same and leaves the focus where it is.
    """

    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    Reply { margin: 0 1 0 2; }
    Reply:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the code, or the answer", id="reply.copy", show=False),
        Binding("enter", "follow", "Open the link, or copy the code", id="reply.follow", show=False),
        Binding("left", "move(-1)", "Back to the code or link before", id="reply.previous", show=False),
        Binding("right", "move(1)", "On to the next code or link", id="reply.next", show=False),
        Binding("escape", "leave", "Back to the prompt", id="reply.leave", show=False),
    ]

    def __init__(self, source: str = "", glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.source = sanitise(source, tabs=True)
        """Markdown as it came, but for what would act on a terminal."""
        self._glyphs = glyphs
        self._width = self._wanted = 0
        self._rows: Sequence[Line] = ()
        self._pending: list[str] = []
        self._growing: GrowingMarkdown | None = None
        self._flush_timer: Timer | None = None
        self._setting = asyncio.Lock()
        self._drawn = 0
        self._stop: Stop | None = None

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

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if self._is_whole(selection):
            return self.source.strip("\n"), "\n\n"
        return super().get_selection(selection)

    def decorated(self, line: Line, y: int) -> Line:
        stop = self._stop
        if stop is None or not self.has_focus or not stop.top <= y <= stop.bottom:
            return line
        if isinstance(stop.target, Code):
            aside = Content.styled(f"{COPY} c", "bold $text-primary")
            return replace(line, aside=aside) if line.aside is not None else line
        content = line.content
        for start, end, url in links(content):
            if url == stop.target:
                content = content.stylize("bold $text-primary", start, end)
        return replace(line, content=content)

    def on_focus(self) -> None:
        """Code is what one comes for most; without any a link is reached by the arrow keys."""
        self._stop = next((stop for stop in self._stops() if isinstance(stop.target, Code)), None)
        self._go_to(self._stop)

    def on_blur(self) -> None:
        self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        url = event.style.meta.get(HREF)
        tooltip = Content(url) if isinstance(url, str) else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_leave(self) -> None:
        self.tooltip = None

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 or self.text_selection is not None:
            return
        url = event.style.meta.get(HREF)
        place = event.get_content_offset(self)
        if isinstance(url, str):
            self._follow(url)
        elif place is not None and (code := self._copy_sign_at(place)) is not None:
            copy(self.app, code.source, "The code")

    def action_copy(self) -> None:
        """Copy the code that is gone to, else all of the answer."""
        target = self._stop.target if self._stop is not None else None
        if isinstance(target, Code):
            copy(self.app, target.source, "The code")
        elif target is not None:
            copy(self.app, target, "The address")
        else:
            copy(self.app, self.source, "The answer")

    def action_follow(self) -> None:
        """Open the link that is gone to, after a look at it; copy anything else."""
        if self._stop is not None and isinstance(self._stop.target, str):
            self._follow(self._stop.target)
        else:
            self.action_copy()

    def action_move(self, step: int) -> None:
        """Go to the next code or link; behind the last and before the first one is the whole answer."""
        found: list[Stop | None] = [None, *self._stops()]
        place = found.index(self._stop) if self._stop in found else 0
        self._go_to(found[(place + step) % len(found)])

    def action_leave(self) -> None:
        """Give the focus back to where one types."""
        home = self.screen.query(self.screen.AUTO_FOCUS) if self.screen.AUTO_FOCUS else None
        if home:
            home.first().focus()

    def _stops(self) -> list[Stop]:
        return stops(self.lines_for(self.size.width))

    def _go_to(self, stop: Stop | None) -> None:
        self._stop = stop
        self.refresh()
        if stop is not None:
            # After what Textual scrolls when the focus changes.
            self.call_after_refresh(self._bring_into_view, stop)

    def _bring_into_view(self, stop: Stop) -> None:
        rows = Region(0, stop.top, self.size.width, stop.bottom - stop.top + 1)
        if isinstance(self.parent, Widget):
            self.parent.scroll_to_region(rows.translate(self.virtual_region.offset), animate=False)

    def _follow(self, url: str) -> None:
        from local_agent.tui.screens.link import follow

        follow(self.app, url, self._glyphs)

    def _copy_sign_at(self, place: Offset) -> Code | None:
        """The code that the sign at the right edge of a row belongs to."""
        rows = self.lines_for(self.size.width)
        row = rows[place.y] if place.y < len(rows) else None
        if row is None or row.aside is None or place.x < self.size.width - row.aside.cell_length:
            return None
        return row.part if isinstance(row.part, Code) else None

    def _is_whole(self, selection: Selection) -> bool:
        """True for a selection from the first character to the last one."""
        start, end = selection
        last = len(self.lines_for(self.size.width)) - 1
        return (start is None or start == (0, 0)) and (end is None or end.y > last)

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
