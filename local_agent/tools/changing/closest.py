"""The lines of a file that come closest to a text that it doesn't hold, and what differs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from heapq import nlargest
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.tools.changing.endings import with_line_feeds

LOOKED_AT = 20_000
"""Lines of the file."""
SHOWN = 12
SHOWN_WIDTH = 200
ALIKE = 0.6
"""Of two lines, as ``SequenceMatcher.ratio`` counts: below that they have nothing to do with each other."""
_TRIED = 200
"""Lines that are compared letter by letter."""


class Near(NamedTuple):
    """A place in a file."""

    first: int
    """Its first line, from 1."""
    lines: tuple[str, ...]
    differs: str
    """What differs, as a sentence."""


def closest(text: str, wanted: str) -> Near | None:
    """The place that comes closest; None when nothing in the text is like it."""
    lines = with_line_feeds(text).split("\n")[:LOOKED_AT]
    sought = wanted.strip("\n").split("\n")
    for alike, differs in (
        (str.rstrip, "White space at the end of a line differs."),
        (str.strip, "The indentation differs (spaces or tabs)."),
        (_squeezed, "White space differs."),
        (str.casefold, "Upper and lower case differ."),
        (lambda line: _squeezed(line).casefold(), "White space and upper and lower case differ."),
    ):
        place = _same(lines, sought, alike)
        if place is not None:
            return _near(lines, place, len(sought), differs)
    place = _most_in_common(lines, sought)
    if place is None:
        place = _most_alike(lines, sought)
    return None if place is None else _near(lines, place, len(sought), "The text differs.")


def numbered(first: int, lines: Sequence[str]) -> str:
    """Lines with their numbers, bounded."""
    shown = [
        f"{first + number}\t{one_line(line[: 4 * SHOWN_WIDTH], SHOWN_WIDTH)}"
        for number, line in enumerate(lines[:SHOWN])
    ]
    return "\n".join([*shown, f"... {len(lines) - SHOWN:,} more lines"] if len(lines) > SHOWN else shown)


def place_of(text: str, position: int) -> int:
    """The line that holds a character, from 1."""
    return text.count("\n", 0, position) + 1


def _near(lines: Sequence[str], place: int, count: int, differs: str) -> Near:
    return Near(place + 1, tuple(lines[place : place + count]), differs)


def _squeezed(line: str) -> str:
    return "".join(line.split())


def _same(lines: Sequence[str], sought: Sequence[str], alike: Callable[[str], str]) -> int | None:
    """Where ``sought`` stands when both sides are seen through ``alike``. Blank text stands nowhere."""
    target = [alike(line) for line in sought]
    if not any(target):
        return None
    seen = [alike(line) for line in lines]
    # Ends may be parts of lines, as those of what is replaced may be.
    first, *middle = target
    for place in range(len(seen) - len(target) + 1):
        if not middle:
            if first and first in seen[place]:
                return place
        elif (
            seen[place].endswith(first)
            and seen[place + len(middle)].startswith(middle[-1])
            and seen[place + 1 : place + len(middle)] == middle[:-1]
        ):
            return place
    return None


def _most_in_common(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    """The start of the stretch that holds most of the sought lines; None when it holds none."""
    wanted = Counter(line for line in map(_squeezed, sought) if len(line) > 3)
    seen = [_squeezed(line) for line in lines]
    inside: Counter[str] = Counter()
    best, best_place, common = 0, 0, 0
    for place, line in enumerate(seen):
        if line in wanted:
            inside[line] += 1
            common += inside[line] <= wanted[line]
        leaving = place - len(sought)
        if leaving >= 0 and (gone := seen[leaving]) in wanted:
            common -= inside[gone] <= wanted[gone]
            inside[gone] -= 1
        if common > best:
            best, best_place = common, max(0, leaving + 1)
    return best_place if best else None


def _most_alike(lines: Sequence[str], sought: Sequence[str]) -> int | None:
    """Where the longest sought line has its likeness."""
    offset, longest = max(enumerate(sought), key=lambda pair: len(pair[1].strip()))
    longest = longest.strip()[:SHOWN_WIDTH]
    if not longest:
        return None
    words = set(longest.split())
    matcher = SequenceMatcher(None, b=longest, autojunk=False)

    def alike(line: str) -> float:
        matcher.set_seq1(line.strip()[:SHOWN_WIDTH])
        return matcher.ratio() if matcher.quick_ratio() >= ALIKE else 0.0

    likely = nlargest(_TRIED, range(len(lines)), key=lambda place: len(words & set(lines[place].split())))
    ratio, place = max((alike(lines[place]), -place) for place in likely)
    return max(0, -place - offset) if ratio >= ALIKE else None
