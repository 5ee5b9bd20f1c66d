"""Unified diffs as rows: one column, or old and new beside each other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

from textual.content import Content

from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import Line, decoration, fold

BESIDE_FROM = 120
"""Cells of room from which on old and new stand beside each other: a terminal of 130 has them."""
SHOWN_LINES = 4_000
"""A longer diff is told by its first lines; the viewer has all of it."""
SHOWN_CHARACTERS = 2_000
"""Of one line."""

_HEADER = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_STYLES = {"+": "$text-success", "-": "$text-error", " ": "$text-muted", "\\": "$text-muted"}


@dataclass(frozen=True, slots=True)
class DiffLine:
    """One line of a hunk. ``old`` and ``new`` are its numbers in the file before and after."""

    sign: str
    """A space, ``+``, ``-``, or a backslash for a remark on the line before."""
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(frozen=True, slots=True)
class Hunk:
    """One place that changes. ``number`` counts from 0 over all files of the diff."""

    number: int
    path: str
    about: str
    """What stands behind the second ``@@``."""
    lines: tuple[DiffLine, ...]


def hunks_of(diff: str) -> tuple[Hunk, ...]:
    """Read a unified diff; what is none is left out, and a hunk that is cut short has what is there."""
    hunks: list[Hunk] = []
    old_path = path = ""
    rows = diff.split("\n")
    at = 0
    while at < len(rows):
        row, at = rows[at], at + 1
        if row.startswith("--- "):
            old_path = _path(row[4:])
        elif row.startswith("+++ "):
            path = _path(row[4:]) or old_path
        elif header := _HEADER.match(row):
            lines, at = _body(rows, at, header)
            hunks.append(Hunk(len(hunks), path, header[5], lines))
    return tuple(hunks)


def _path(written: str) -> str:
    name = written.split("\t")[0]
    return "" if name == "/dev/null" else name.removeprefix("a/").removeprefix("b/")


def _body(rows: Sequence[str], at: int, header: re.Match[str]) -> tuple[tuple[DiffLine, ...], int]:
    """The lines that a header counts, and where it goes on: a removed line may look like a header."""
    old, new = int(header[1]), int(header[3])
    old_end, new_end = old + int(header[2] or 1), new + int(header[4] or 1)
    lines: list[DiffLine] = []
    while at < len(rows):
        sign, text = rows[at][:1] or " ", rows[at][1:]
        if sign == "\\":
            lines.append(DiffLine(sign, text))
        elif old >= old_end and new >= new_end:
            break
        elif sign == "-":
            lines.append(DiffLine(sign, text, old=old))
            old += 1
        elif sign == "+":
            lines.append(DiffLine(sign, text, new=new))
            new += 1
        else:
            lines.append(DiffLine(" ", text, old, new))
            old, new = old + 1, new + 1
        at += 1
    return tuple(lines), at


def counts(hunks: Iterable[Hunk]) -> tuple[int, int]:
    """How many lines come, and how many go."""
    signs = [line.sign for hunk in hunks for line in hunk.lines]
    return signs.count("+"), signs.count("-")


def count_words(hunks: Iterable[Hunk]) -> str:
    """``+3 -1``"""
    came, went = counts(hunks)
    return f"+{came} -{went}"


def typeset(hunks: Sequence[Hunk], width: int, glyphs: Glyphs) -> list[Line]:
    """The rows of a diff for ``width`` cells, with a line for each file where there are several."""
    lines: list[Line] = []
    several = len({hunk.path for hunk in hunks}) > 1
    left = SHOWN_LINES
    for path, group in groupby(hunks, key=lambda hunk: hunk.path):
        if several:
            lines.append(_cut(Content.styled(one_line(path), "bold $text"), width))
        for number, hunk in enumerate(group):
            if number:
                lines.append(decoration(glyphs.ellipsis, "$text-muted"))
            lines += hunk_rows(hunk, width, glyphs, left)
            left -= len(hunk.lines)
            if left <= 0:
                lines.append(decoration(f"{glyphs.ellipsis} more, in the viewer", "$text-muted"))
                return lines
    return lines


def hunk_rows(hunk: Hunk, width: int, glyphs: Glyphs, limit: int = SHOWN_LINES) -> list[Line]:
    """The rows of one hunk: beside each other where there is room for it."""
    shown = hunk.lines[: max(limit, 0)]
    digits = len(str(max((line.new or line.old or 0 for line in shown), default=0)))
    if width >= BESIDE_FROM:
        return [_pair(old, new, digits, width, glyphs) for old, new in pairs(shown)]
    return [row for line in shown for row in _rows(line, digits, width)]


def pairs(lines: Iterable[DiffLine]) -> Iterator[tuple[DiffLine | None, DiffLine | None]]:
    """Old and new line of each row: what goes stands beside what comes in its place."""
    for changed, group in groupby(lines, key=lambda line: line.sign in "+-"):
        if not changed:
            yield from ((line, line) for line in group)
        else:
            both = list(group)
            went = [line for line in both if line.sign == "-"]
            came = [line for line in both if line.sign == "+"]
            yield from zip_longest(went, came)


def _rows(line: DiffLine, digits: int, width: int) -> list[Line]:
    number = line.new if line.new is not None else line.old
    gutter = Content.styled(f"{number if number is not None else '':>{digits}} {line.sign} ", _style(line))
    rest = Content.styled(" " * len(gutter), _style(line))
    rows = fold(Content.styled(drawn(line.text), _style(line)), width - len(gutter))
    return [row.behind(rest if place else gutter) for place, row in enumerate(rows)]


def _pair(old: DiffLine | None, new: DiffLine | None, digits: int, width: int, glyphs: Glyphs) -> Line:
    half = (width - 3) // 2
    left = _half(old, old.old if old else None, digits, half)
    right = _half(new, new.new if new else None, digits, half)
    gap = " " * (half - left.cell_length)
    return Line(Content.assemble(left, gap, (f" {glyphs.side_bar} ", "$text-muted"), right))


def _half(line: DiffLine | None, number: int | None, digits: int, width: int) -> Content:
    if line is None:
        return Content("")
    shown = number if number is not None else ""
    text = f"{shown:>{digits}} {line.sign} {drawn(line.text)}"
    return Content.styled(text, _style(line)).truncate(width, ellipsis=True)


def _style(line: DiffLine) -> str:
    return _STYLES[line.sign]


def drawn(text: str) -> str:
    """A line of a file, safe to draw on one row; a carriage return is seen."""
    return sanitise(text[:SHOWN_CHARACTERS].replace("\r", "\N{SYMBOL FOR CARRIAGE RETURN}")).replace(
        "\n", " "
    )


def _cut(content: Content, width: int) -> Line:
    return Line(content.truncate(width, ellipsis=True))
