"""Marks in drawn text: where the words that are looked for stand in typeset lines."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from local_agent.tui.look.lines import Line

if TYPE_CHECKING:
    from local_agent.domain.finding import Sought

T = TypeVar("T")

MARKED = "$text on $warning-muted"
CHOSEN = "bold reverse"


class Spot(NamedTuple):
    """Where words begin in typeset lines."""

    row: int
    column: int


def marked(lines: Sequence[Line], row: int, sought: Sought, chosen: tuple[int, int] | None) -> Line:
    """One row with the words marked in it; those that begin at ``chosen`` stand out."""
    content = lines[row].content
    for start, end, spot in spans(lines, row, sought):
        # Words that are broken over rows are known by where they begin.
        content = content.stylize(CHOSEN if spot == chosen else MARKED, start, end)
    return replace(lines[row], content=content)


def spans(lines: Sequence[Line], row: int, sought: Sought) -> Iterator[tuple[int, int, Spot]]:
    """What is to be marked in one row: from and to which character, and where the words begin.

    Costs the same however many lines there are.
    """
    reach = len(sought.words) - 1
    first, before = row, 0
    while first and before < reach:
        first -= 1
        before += len(_text(lines[first]))
    last, after = row, 0
    while last + 1 < len(lines) and after < reach:
        last += 1
        after += len(_text(lines[last]))
    line = lines[row]
    for found in _found(lines[first : last + 1], sought):
        start, end = found.start - before, found.end - before
        begin, stop = max(start, 0), min(end, len(line.content) - line.gutter)
        if begin < stop:
            spot = Spot(first + found.spot.row, found.spot.column)
            yield begin + line.gutter, stop + line.gutter, spot


def spots(lines: Sequence[Line], sought: Sought) -> list[Spot]:
    """Where the words begin in all of the lines, from the top."""
    return [found.spot for found in _found(lines, sought)]


def nearest(places: Sequence[T], number: int, of: int) -> T | None:
    """The place of occurrence ``number`` of a text with ``of`` of them, as near as can be told.

    A text and its drawing may differ in what is found: marks of Markdown are in the one alone.
    """
    if not places:
        return None
    return places[number if len(places) == of else number * len(places) // of]


class _Occurrence(NamedTuple):
    start: int
    end: int
    spot: Spot


def _found(lines: Sequence[Line], sought: Sought) -> Iterator[_Occurrence]:
    if not sought.words:
        return
    texts = [_text(line) for line in lines]
    starts = [0, *accumulate(map(len, texts))]
    for match in sought.pattern.finditer("".join(texts)):
        row = bisect_right(starts, match.start()) - 1
        column = match.start() - starts[row] + lines[row].gutter
        yield _Occurrence(match.start(), match.end(), Spot(row, column))


def _text(line: Line) -> str:
    """What a row adds to the text; decoration adds nothing."""
    return line.content.plain[line.gutter :] + line.joint
