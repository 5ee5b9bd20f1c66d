"""A Markdown text that grows: only its last block is set again when more of it arrives."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence

from local_agent.domain.text import TAB_WIDTH, sanitise
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.lines import BLANK, Line, PlainRows
from local_agent.tui.markdown.typeset import Typesetter, finished_end

LONG_LINES = 60
LONG_CHARACTERS = 6_000
"""An open block longer than this is drawn as plain text until it closes: setting it anew would stall."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST_OR_QUOTE = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)]|>)")


class GrowingMarkdown:
    """Feed it text, ask it for lines. ``lines`` holds the finished blocks and then the open one."""

    def __init__(self, width: int, glyphs: Glyphs = UNICODE) -> None:
        self.lines: list[Line] = []
        self.typesetter = Typesetter(width, glyphs)
        self.source = ""
        """Everything fed, sanitised."""
        self._half_break = ""
        self._open = ""
        self._open_from = 0
        """Where the lines of the open block begin."""
        self._long: _LongBlock | None = None

    async def feed(self, text: str) -> None:
        """Add text. A long block that closes here is set on a thread."""
        text = self._half_break + text
        self._half_break = "\r" if text.endswith("\r") else ""
        # Tab stops count from the start of the line, which came in an earlier piece.
        column = (len(self._open) - self._open.rfind("\n") - 1) % TAB_WIDTH
        text = sanitise(" " * column + text.removesuffix("\r"))[column:]
        self.source += text
        self._open += text
        if self._long is not None:
            await self._feed_long(text)
        else:
            self._feed_short()

    async def finish(self) -> None:
        """No more text will come: set the open block for good."""
        if self._open.strip():
            await self._settle(self._open)
        self._open, self._long = "", None

    async def resize(self, width: int) -> None:
        """Set everything again for another width."""
        self.typesetter = Typesetter(width, self.typesetter.glyphs)
        source, self.source, self._open, self._long = self.source, "", "", None
        cut = await asyncio.to_thread(finished_end, source)
        self.lines = await asyncio.to_thread(self.typesetter.typeset, source[:cut])
        self._open_from = len(self.lines)
        self.source = source[:cut]
        await self.feed(source[cut:])

    def _feed_short(self) -> None:
        cut = finished_end(self._open)
        if cut:
            self._replace_open(self.typesetter.typeset(self._open[:cut]))
            self._open_from = len(self.lines)
            self._open = self._open[cut:]
        if self._open.count("\n") > LONG_LINES or len(self._open) > LONG_CHARACTERS:
            self._long = _LongBlock(self.typesetter.width, self._open)
            self._replace_open(self._long.plain.rows)
        else:
            self._replace_open(self.typesetter.typeset(self._open))

    async def _feed_long(self, text: str) -> None:
        assert self._long is not None
        if not self._long.closed_by(self._open):
            kept = self._long.plain.feed(text)
            del self.lines[self._start_of_open() + kept :]
            self.lines.extend(self._long.plain.rows[kept:])
            return
        self._long = None
        cut = await asyncio.to_thread(finished_end, self._open)
        if cut:
            await self._settle(self._open[:cut])
            self._open = self._open[cut:]
        self._feed_short()

    async def _settle(self, source: str) -> None:
        if len(source) > LONG_CHARACTERS or source.count("\n") > LONG_LINES:
            lines = await asyncio.to_thread(self.typesetter.typeset, source)
        else:
            lines = self.typesetter.typeset(source)
        self._replace_open(lines)
        self._open_from = len(self.lines)

    def _start_of_open(self) -> int:
        return self._open_from + (1 if self._open_from else 0)

    def _replace_open(self, lines: Sequence[Line]) -> None:
        del self.lines[self._open_from :]
        if lines and self.lines:
            self.lines.append(BLANK)
        self.lines.extend(lines)


class _LongBlock:
    """An open block drawn as plain rows, and the watch for its end."""

    def __init__(self, width: int, start: str) -> None:
        self.plain = PlainRows(width)
        self.plain.feed(start)
        leading = len(start) - len(start.lstrip("\n"))
        self._first = start[leading:].split("\n", 1)[0]
        self._checked = leading + len(self._first) + 1

    def closed_by(self, source: str) -> bool:
        """True once a whole line has come that may end the block; never misses one, may be early."""
        end = source.rfind("\n") + 1
        lines = source[self._checked : end].split("\n")[:-1]
        before = source[: self._checked].endswith("\n\n")
        self._checked = end
        if fence := _FENCE.match(self._first):
            return any(line.strip().startswith(fence[1]) for line in lines)
        nested = _LIST_OR_QUOTE.match(self._first) is not None
        for line in lines:
            blank = not line.strip()
            if not nested and blank:
                return True
            inside = blank or line.startswith(" ") or _LIST_OR_QUOTE.match(line) is not None
            if nested and before and not inside:
                return True
            before = blank
        return False
