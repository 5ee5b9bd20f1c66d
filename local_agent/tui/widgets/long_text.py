"""A text of any length: its first screenful is there at once, and the rest is typeset beside the screen."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import monotonic

from markdown_it.tree import SyntaxTreeNode
from textual import work
from textual.message import Message

from local_agent.domain.text import sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.growing_lines import JoinedLines, PlainLines
from local_agent.tui.look.lines import BLANK, Line
from local_agent.tui.markdown.code import code
from local_agent.tui.markdown.typeset import Typesetter, finished_end
from local_agent.tui.widgets.markdown_view import MarkdownView

FIRST_PIECE = 4_000
PIECE = 20_000
"""Characters that are typeset at a time, more where a block is longer."""
UNBROKEN = 100_000
"""Cells that no line of code reaches: a longer one is not code."""
DRAW_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Look:
    """How a text is shown."""

    raw: bool = False
    """As it was written, not as the document that it describes."""
    broken: bool = True
    """Long lines are broken at the edge; else one scrolls to their ends."""


class LongText(MarkdownView, can_focus=False):
    """Posts ``Grown`` while more of it is typeset, and once it is whole."""

    DEFAULT_CSS = """
    LongText { width: auto; min-width: 100%; }
    """

    class Grown(Message):
        """There are more lines than before, or all of them."""

    def __init__(self, source: str, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(source, glyphs)
        self.look = Look()
        self.complete = asyncio.Event()
        """Set while all lines are there."""
        self._lines: Sequence[Line] = ()
        self._room = 0
        self._widest = 0

    @property
    def lines(self) -> Sequence[Line]:
        """What is typeset so far."""
        return self._lines

    def lines_for(self, width: int) -> Sequence[Line]:
        return self._lines

    def get_content_width(self, container: object, viewport: object) -> int:
        return max(self._room, self._widest)

    def show(self, look: Look, room: int) -> None:
        """Typeset everything for ``room`` cells, unless it is or is being so already."""
        if (look, room) != (self.look, self._room) and room:
            self.look, self._room = look, room
            self.complete.clear()
            self._typeset()

    @work(group="typeset", exclusive=True)
    async def _typeset(self) -> None:
        look, room, drawn = self.look, self._room, 0.0
        lines = JoinedLines(gap=None if look.raw else BLANK)
        widest = 0
        source = await asyncio.to_thread(sanitise, self.source, tabs=not look.raw)
        for piece in raw_pieces(source) if look.raw else pieces(source):
            block, cells = await asyncio.to_thread(_set, piece, look, room, self._glyphs)
            lines.finish(block)
            widest = max(widest, cells)
            if monotonic() - drawn > DRAW_SECONDS:
                self._draw(lines, widest)
                drawn = monotonic()
        self.complete.set()
        self._draw(lines, widest)

    def _draw(self, lines: Sequence[Line], widest: int) -> None:
        self._lines, self._widest = lines, widest
        self.refresh(layout=True)
        self.post_message(self.Grown())


class UnbrokenTypesetter(Typesetter):
    """Breaks text at the edge, but no line of code."""

    def _block(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        if node.type in ("fence", "code_block"):
            return code(node.content, node.info, UNBROKEN, self.glyphs)
        return super()._block(node, width)


def pieces(source: str) -> Iterator[str]:
    """A Markdown text in parts that end where blocks end; what a long block is in is as long as that."""
    start, size = 0, FIRST_PIECE
    while start < len(source):
        end = start + size
        cut = finished_end(source[start:end]) if end < len(source) else size
        if cut:
            yield source[start : start + cut]
            start, size = start + cut, PIECE
        else:
            size *= 4


def raw_pieces(source: str) -> Iterator[str]:
    """Any text in parts of whole lines, each without its last line break."""
    start = 0
    while start < len(source):
        end = source.find("\n", start + PIECE)
        end = len(source) if end < 0 else end
        yield source[start:end]
        start = end + 1


def _set(piece: str, look: Look, room: int, glyphs: Glyphs) -> tuple[Sequence[Line], int]:
    """The lines of a part, and how many cells the widest takes where lines are not broken."""
    if look.broken:
        return (PlainLines(room, piece) if look.raw else Typesetter(room, glyphs).typeset(piece)), 0
    lines = PlainLines(UNBROKEN, piece) if look.raw else UnbrokenTypesetter(room, glyphs).typeset(piece)
    return lines, max((line.content.cell_length for line in lines), default=0)
