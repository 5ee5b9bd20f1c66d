"""Typeset lines: what a widget of text draws row by row, and how a selection maps back to text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.content import Content
from textual.selection import Selection

TAB_SIZE = 4


@dataclass(frozen=True, slots=True)
class Line:
    """One row. ``gutter`` leading characters are decoration, as is ``aside`` at the right edge."""

    content: Content
    gutter: int = 0
    joint: str = "\n"
    """What stands between this row's text and the next row's in the source."""
    aside: Content | None = None

    def behind(self, prefix: Content) -> Line:
        """The same row behind one more piece of decoration."""
        return Line(prefix + self.content, len(prefix) + self.gutter, self.joint, self.aside)


BLANK = Line(Content(""))


def decoration(text: str, style: str) -> Line:
    """A row that is drawn but never part of a selection."""
    return Line(Content.styled(text, style), gutter=len(text))


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


def fold(content: Content, width: int) -> list[Line]:
    """Break one line of code every ``width`` cells, spaces kept."""
    rows = content.fold(max(width, 2))
    return [*(Line(row, joint="") for row in rows[:-1]), Line(rows[-1])] if rows else [BLANK]


def indented(lines: Iterable[Line], first: Content, rest: Content | None = None) -> list[Line]:
    """Put ``first`` before the first row and ``rest`` (or ``first`` again) before the others."""
    result: list[Line] = []
    for line in lines:
        result.append(line.behind(first if rest is None or not result else rest))
    return result


def selected_text(lines: Sequence[Line], selection: Selection) -> str:
    """The text under a selection, without decoration and with soft line breaks undone."""
    parts: list[str] = []
    for y, line in enumerate(lines):
        span = selection.get_span(y)
        if span is None:
            continue
        start, end = span
        plain = line.content.plain
        end = len(plain) if end == -1 else end
        parts.append(plain[max(start, line.gutter) : max(end, line.gutter)])
        parts.append(line.joint)
    return "".join(parts[:-1])
