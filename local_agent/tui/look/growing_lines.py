"""Lines that grow by thousands: what is above stays as it is, and rows of plain text are made when drawn."""

from __future__ import annotations

import re
from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import overload

from rich.cells import cell_len, get_character_cell_size
from textual.content import Content

from local_agent.tui.look.lines import BLANK, TAB_SIZE, Line


class _Lines(Sequence[Line]):
    """A sequence that only says what its rows are."""

    @overload
    def __getitem__(self, index: int) -> Line: ...

    @overload
    def __getitem__(self, index: slice) -> list[Line]: ...

    def __getitem__(self, index: int | slice) -> Line | list[Line]:
        if isinstance(index, slice):
            return [self._row(each) for each in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return self._row(place)

    @abstractmethod
    def _row(self, place: int) -> Line:
        """The row at a place that exists."""


class PlainLines(_Lines):
    """Unformatted text, behind ``prefix``: of a row only its place in the text is kept."""

    def __init__(self, width: int, text: str = "", prefix: Content = BLANK.content) -> None:
        self._width = max(width - len(prefix), 2)
        self._prefix = prefix
        self._pattern = re.compile(rf"(.{{1,{self._width}}})(?: +|$)|(.{{{self._width}}})")
        self._text = ""
        self._column = 0
        self._starts = array("Q")
        self._ends = array("Q")
        self.feed(text)

    def feed(self, text: str) -> None:
        """Add text: only the last row is wrapped again."""
        start = self._starts.pop() if self._starts else 0
        del self._ends[len(self._starts) :]
        self._text += self._without_tabs(text)
        for paragraph in self._text[start:].split("\n"):
            for begin, end in self._wrapped(paragraph):
                self._starts.append(start + begin)
                self._ends.append(start + end)
            start += len(paragraph) + 1

    def __len__(self) -> int:
        return len(self._starts)

    def _without_tabs(self, text: str) -> str:
        """The next piece of the text; what came before decides how far a tab reaches."""
        spaced = (" " * self._column + text).expandtabs(TAB_SIZE)
        drawn = spaced[self._column :]
        self._column = (len(spaced) - spaced.rfind("\n") - 1) % TAB_SIZE
        return drawn

    def _row(self, place: int) -> Line:
        start, end = self._starts[place], self._ends[place]
        joint = self._text[end : self._starts[place + 1]] if place + 1 < len(self) else "\n"
        line = Line(Content(self._text[start:end]), joint=joint)
        return line.behind(self._prefix) if self._prefix else line

    def _wrapped(self, paragraph: str) -> Iterator[tuple[int, int]]:
        """Where the rows of one line of the text begin and end."""
        if cell_len(paragraph) <= self._width:
            yield 0, len(paragraph)
        elif paragraph.isascii():
            for row in self._pattern.finditer(paragraph):
                yield row.start(), row.end(row.lastindex or 0)
        else:
            yield from _wrapped_by_cells(paragraph, self._width)


def _wrapped_by_cells(paragraph: str, width: int) -> Iterator[tuple[int, int]]:
    """The same rows as the pattern finds, of text whose characters are not all one cell wide."""
    start, length = 0, len(paragraph)
    while start < length:
        end, room = start, width
        while end < length and (room := room - get_character_cell_size(paragraph[end])) >= 0:
            end += 1
        if end < length and paragraph[end] != " ":
            space = paragraph.rfind(" ", start + 1, end)
            end = space if space > 0 else max(end, start + 1)
        yield start, end
        start = end
        while start < length and paragraph[start] == " ":
            start += 1


class JoinedLines(_Lines):
    """Finished blocks and then an open one, with ``gap`` between any two that are not empty."""

    def __init__(self, gap: Line | None = BLANK) -> None:
        self._gap = gap
        self._blocks: list[Sequence[Line]] = []
        self._starts: list[int] = []
        self._finished = 0
        self._open: Sequence[Line] = ()

    def finish(self, block: Sequence[Line]) -> None:
        """Put a block in the place of the open one, for good."""
        self._open = ()
        if not block:
            return
        if self._gap is not None and self._blocks:
            self._append((self._gap,))
        self._append(block)

    def open(self, block: Sequence[Line]) -> None:
        """Replace the open block."""
        self._open = block

    def __len__(self) -> int:
        return self._start_of_open() + len(self._open)

    def _append(self, block: Sequence[Line]) -> None:
        self._blocks.append(block)
        self._starts.append(self._finished)
        self._finished += len(block)

    def _start_of_open(self) -> int:
        gap = self._gap is not None and self._finished and self._open
        return self._finished + (1 if gap else 0)

    def _row(self, place: int) -> Line:
        if place < self._finished:
            block = bisect_right(self._starts, place) - 1
            return self._blocks[block][place - self._starts[block]]
        inside = place - self._start_of_open()
        return self._open[inside] if inside >= 0 else self._gap or BLANK
