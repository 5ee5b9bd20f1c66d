"""A Markdown text that grows: only its last block is set again when more of it arrives."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from typing import TypeVar

from local_agent.domain.text import GrowingText
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.growing_lines import JoinedLines, PlainLines
from local_agent.tui.markdown.typeset import Typesetter, finished_end

T = TypeVar("T")

LONG_LINES = 60
LONG_CHARACTERS = 3_000
"""An open block longer than this is drawn as plain text until it closes: setting it anew would stall."""

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LIST_OR_QUOTE = re.compile(r" {0,3}(?:[-+*]|\d{1,9}[.)]|>)")


class GrowingMarkdown:
    """Feed it text, ask it for lines. ``lines`` holds the finished blocks and then the open one."""

    def __init__(self, width: int, glyphs: Glyphs = UNICODE) -> None:
        self.lines = JoinedLines()
        self.typesetter = Typesetter(width, glyphs)
        self.source = ""
        """Everything fed, sanitised but for its tabs."""
        self._arriving = GrowingText(tabs=True)
        self._finished: list[str] = []
        self._open = ""
        self._long: _LongBlock | None = None

    async def feed(self, text: str) -> None:
        """Add text. A long block that closes here is set on a thread."""
        await self._add(self._arriving.feed(text))

    async def finish(self) -> None:
        """No more text will come: set the open block for good."""
        if rest := self._arriving.finish():
            await self._add(rest)
        await self._finish(len(self._open))

    async def resize(self, width: int) -> None:
        """Set everything again for another width, on a thread."""
        self.typesetter = Typesetter(width, self.typesetter.glyphs)
        lines = JoinedLines()
        for source in self._finished:
            lines.finish(await asyncio.to_thread(self.typesetter.typeset, source))
        self.lines = lines
        if self._long is not None:
            self._long.plain = await asyncio.to_thread(PlainLines, width, self._open)
        await self._draw_open()

    async def _add(self, text: str) -> None:
        self.source += text
        self._open += text
        if self._long is not None:
            self._long.plain.feed(text)
        if self._long is None or self._long.may_have_ended(self._open):
            cut = await _long_on_thread(finished_end, self._open)
            if cut:
                await self._finish(cut)
        await self._draw_open()

    async def _finish(self, cut: int) -> None:
        """Set the open text up to ``cut`` for good."""
        source, self._open = self._open[:cut], self._open[cut:]
        lines = await _long_on_thread(self.typesetter.typeset, source)
        self._finished.append(source)
        self.lines.finish(lines)
        self._long = None

    async def _draw_open(self) -> None:
        if self._long is None and _is_long(self._open):
            plain = await asyncio.to_thread(PlainLines, self.typesetter.width, self._open)
            self._long = _LongBlock(self._open, plain)
        self.lines.open(self._long.plain if self._long is not None else self.typesetter.typeset(self._open))


class _LongBlock:
    """An open block drawn as plain rows, and the watch for its end."""

    def __init__(self, start: str, plain: PlainLines) -> None:
        self.plain = plain
        self._first = start.split("\n", 1)[0]
        self._seen = len(self._first) + 1
        self._ended = False
        self._look_at = 0

    def may_have_ended(self, source: str) -> bool:
        """True once a line has come that may end the block; never misses one, may be early.

        After a look in vain it waits until there is a quarter more, so that all looks together cost little.
        """
        end = source.rfind("\n") + 1
        if end > self._seen:
            lines = source[self._seen : end].split("\n")[:-1]
            self._ended = self._ended or self._ends(lines, source[: self._seen].endswith("\n\n"))
            self._seen = end
        if not self._ended or len(source) < self._look_at:
            return False
        self._ended = False
        self._look_at = len(source) * 5 // 4
        return True

    def _ends(self, lines: Sequence[str], after_blank: bool) -> bool:
        if fence := _FENCE.match(self._first):
            return any(_closes(line.strip(), fence[1]) for line in lines)
        nested = _LIST_OR_QUOTE.match(self._first) is not None
        for line in lines:
            blank = not line.strip()
            if not nested and blank:
                return True
            inside = blank or line.startswith((" ", "\t")) or _LIST_OR_QUOTE.match(line) is not None
            if nested and after_blank and not inside:
                return True
            after_blank = blank
        return False


def _closes(line: str, fence: str) -> bool:
    return line.startswith(fence) and not line.strip(fence[0])


def _is_long(source: str) -> bool:
    return len(source) > LONG_CHARACTERS or source.count("\n") > LONG_LINES


async def _long_on_thread(work: Callable[[str], T], source: str) -> T:
    return await asyncio.to_thread(work, source) if _is_long(source) else work(source)
