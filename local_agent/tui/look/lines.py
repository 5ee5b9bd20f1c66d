"""Typeset lines: what a widget of text draws row by row, and how a selection maps back to text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.cells import cell_len
from textual.content import Content, Span
from textual.selection import Selection
from textual.style import Style

from local_agent.domain.graphemes import clusters

TAB_SIZE = 4


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code; each row of it holds the same one. ``source`` is what a copy of it is."""

    source: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """A row of a table, however many rows it is drawn on; ``source`` is the row in Markdown."""

    source: str


@dataclass(frozen=True, slots=True)
class Line:
    """One row. ``gutter`` leading characters are decoration, as is ``aside`` at the right edge."""

    content: Content
    gutter: int = 0
    joint: str = "\n"
    """What stands between this row's text and the next row's in the source."""
    aside: Content | None = None
    lead: str = ""
    """What the source has where the gutter is drawn, such as ``- `` or ``> ``."""
    part: Code | TableRow | None = None

    def behind(self, prefix: Content, lead: str = "") -> Line:
        """The same row behind one more piece of decoration; code keeps to itself what it stands in."""
        lead = "" if isinstance(self.part, Code) else lead + self.lead
        return Line(prefix + self.content, len(prefix) + self.gutter, self.joint, self.aside, lead, self.part)


BLANK = Line(Content(""))


def decoration(text: str, style: str) -> Line:
    """A row that is drawn but never part of a selection."""
    return Line(Content.styled(text, style), gutter=len(text))


def standing_for(source: str, start: int, end: int) -> list[Span]:
    """Spans for characters that are drawn in the place of ``source``, which a copy has instead of them."""
    spans = [Span(start, start + 1, _stands_for(source))]
    return spans if end - start < 2 else [*spans, Span(start + 1, end, _stands_for(""))]


def with_tabs(text: str) -> tuple[str, list[Span]]:
    """Text with its tabs drawn as spaces, and the spans that make tabs of them in a copy."""
    if "\t" not in text:
        return text, []
    drawn: list[str] = []
    spans: list[Span] = []
    length = column = 0
    for piece in _TABS_AND_BREAKS.split(text):
        if piece == "\t":
            piece = " " * (TAB_SIZE - column % TAB_SIZE)
            spans.extend(standing_for("\t", length, length + len(piece)))
        drawn.append(piece)
        length += len(piece)
        column = 0 if piece == "\n" else column + len(piece)
    return "".join(drawn), spans


def wrap(content: Content, width: int) -> list[Line]:
    """Wrap at words to ``width`` cells; no character of the text is lost to a later ``selected_text``."""
    lines: list[Line] = []
    for paragraph in content.split("\n", allow_blank=True):
        rows = paragraph.wrap(max(width, 2)) or [Content("")]
        plain, position = paragraph.plain, 0
        for row in rows[:-1]:
            position += len(row)
            joint = plain[position : len(plain) - len(plain[position:].lstrip(" "))]
            position += len(joint)
            lines.append(Line(row, joint=joint))
        lines.append(Line(rows[-1]))
    return lines


def fold(content: Content, width: int, part: Code | None = None) -> list[Line]:
    """Break one line of code every ``width`` cells, spaces kept."""
    *rows, last = content.divide(_folds(content.plain, max(width, 2))) or [content]
    return [*(Line(row, joint="", part=part) for row in rows), Line(last, part=part)]


def _folds(text: str, width: int) -> list[int]:
    """Where the rows end, but for the last one. ``Content.fold`` loses text with combining marks."""
    if text.isascii():
        return list(range(width, len(text), width))
    ends: list[int] = []
    room, place = width, 0
    for cluster in clusters(text):
        size = cell_len(cluster)
        if size > room and place:
            ends.append(place)
            room = width
        room -= size
        place += len(cluster)
    return ends


def indented(
    lines: Iterable[Line],
    first: Content,
    rest: Content | None = None,
    leads: tuple[str, str] = ("", ""),
) -> list[Line]:
    """Put ``first`` before the first row and ``rest`` (or ``first`` again) before the others.

    ``leads`` are what the source has in these places.
    """
    result: list[Line] = []
    for line in lines:
        prefix = first if rest is None or not result else rest
        result.append(line.behind(prefix, leads[1] if result else leads[0]))
    return result


def selected_text(lines: Sequence[Line], selection: Selection) -> str:
    """The text under a selection, without decoration and with soft line breaks undone.

    Within one row that is its words. Of several rows the marks of lists, quotes and headings are part,
    as the source has them; rows of a table are whole rows of Markdown; code is the code alone.
    """
    start, end = selection
    top = start.y if start is not None else 0
    bottom = min(end.y if end is not None else len(lines), len(lines) - 1)
    parts: list[str] = []
    row: TableRow | None = None
    for y in range(top, bottom + 1):
        line = lines[y]
        left, right = selection.get_span(y) or (0, 0)
        if bottom > top and isinstance(line.part, TableRow):
            if line.part is not row:
                parts += (line.part.source, "\n")
            row = line.part
            continue
        text = _source(line.content, max(left, line.gutter), len(line.content) if right == -1 else right)
        opens = bottom > top and left <= line.gutter and (y == 0 or lines[y - 1].joint == "\n")
        parts += (line.lead if text else line.lead.rstrip(), text) if opens else (text,)
        parts.append(line.joint)
    return "".join(parts[:-1])


def _source(content: Content, start: int, end: int) -> str:
    """The characters of a row, those that stand for something else replaced by it."""
    plain = content.plain
    parts: list[str] = []
    for span, source in _replaced(content):
        if span.start >= end:
            break
        if span.start >= start:
            parts += (plain[start : span.start], source)
        start = max(start, min(span.end, end))
    return "".join((*parts, plain[start:end]))


def _replaced(content: Content) -> Iterator[tuple[Span, str]]:
    marked = [span for span in content.spans if isinstance(span.style, Style)]
    for span in sorted(marked, key=lambda each: each.start):
        assert isinstance(span.style, Style)
        source = span.style.meta.get(_SOURCE)
        if isinstance(source, str):
            yield span, source


_SOURCE = "source"
_TABS_AND_BREAKS = re.compile(r"(\t|\n)")


@lru_cache(maxsize=256)
def _stands_for(source: str) -> Style:
    return Style.from_meta({_SOURCE: source})
