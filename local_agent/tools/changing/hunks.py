"""Differences of two texts, line by line: as changes, as a unified diff, and taken in part."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

CONTEXT = 3
"""Lines shown around a change; two changes nearer than twice as many are one hunk."""
_COMPARED = 100_000
"""Pairs of lines that are compared one with another; beyond that a stretch counts as all changed."""
_DEEPEST = 40
"""Levels of stretches between lines that stand once; only texts that were made for it have more."""
_NO_END = "\n\\ No newline at end of file\n"
_LINE = re.compile("[^\n]*\n|[^\n]+")


class Change(NamedTuple):
    """Lines ``start`` to ``end`` give way to the lines ``new_start`` to ``new_end``; all count from 0."""

    start: int
    end: int
    new_start: int
    new_end: int


Hunk = tuple[Change, ...]
"""Changes that lie so close together that they are shown, and answered, as one."""


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line feeds; nothing else ends a line."""
    return _LINE.findall(text)


def changes_between(before: Sequence[str], after: Sequence[str]) -> list[Change]:
    """What makes ``after`` out of ``before``, in order; neighbours are never adjacent."""
    merged: list[Change] = []
    for change in _changes(before, after, Change(0, len(before), 0, len(after))):
        last = merged[-1] if merged else None
        if last is not None and last.end == change.start and last.new_end == change.new_start:
            merged[-1] = Change(last.start, change.end, last.new_start, change.new_end)
        else:
            merged.append(change)
    return merged


def hunks_between(before: Sequence[str], after: Sequence[str]) -> list[Hunk]:
    """The changes, grouped as they are shown."""
    groups: list[list[Change]] = []
    for change in changes_between(before, after):
        if groups and change.start - groups[-1][-1].end <= 2 * CONTEXT:
            groups[-1].append(change)
        else:
            groups.append([change])
    return [tuple(group) for group in groups]


def taken(before: Sequence[str], after: Sequence[str], hunks: Sequence[Hunk]) -> list[str]:
    """``before`` with some of its hunks, in order."""
    lines: list[str] = []
    place = 0
    for change in (change for hunk in hunks for change in hunk):
        lines += before[place : change.start]
        lines += after[change.new_start : change.new_end]
        place = change.end
    return [*lines, *before[place:]]


def unified(before: Sequence[str], after: Sequence[str], hunks: Sequence[Hunk]) -> str:
    """The hunks as text, without the lines that name the files."""
    return "".join(_shown(before, after, hunk) for hunk in hunks)


def counted(hunks: Sequence[Hunk]) -> tuple[int, int]:
    """How many lines come and go."""
    changes = [change for hunk in hunks for change in hunk]
    return sum(each.new_end - each.new_start for each in changes), sum(
        each.end - each.start for each in changes
    )


def _shown(before: Sequence[str], after: Sequence[str], hunk: Hunk) -> str:
    first, last = hunk[0], hunk[-1]
    start, end = max(first.start - CONTEXT, 0), min(last.end + CONTEXT, len(before))
    new_start, new_end = first.new_start - (first.start - start), last.new_end + (end - last.end)
    parts = [f"@@ -{_span(start, end)} +{_span(new_start, new_end)} @@\n"]
    place = start
    for change in hunk:
        parts += (_marked(" ", line) for line in before[place : change.start])
        parts += (_marked("-", line) for line in before[change.start : change.end])
        parts += (_marked("+", line) for line in after[change.new_start : change.new_end])
        place = change.end
    parts += (_marked(" ", line) for line in before[place:end])
    return "".join(parts)


def _span(start: int, end: int) -> str:
    """As unified diffs count: from 1, and of nothing the line that it stands behind."""
    return f"{start + (end > start)},{end - start}"


def _marked(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else sign + line + _NO_END


def _changes(before: Sequence[str], after: Sequence[str], part: Change, depth: int = 0) -> Iterator[Change]:
    """Changes of a part. Lines that stand in both exactly once hold it together, as in a patience diff."""
    start, end, new_start, new_end = part
    while start < end and new_start < new_end and before[start] == after[new_start]:
        start, new_start = start + 1, new_start + 1
    while start < end and new_start < new_end and before[end - 1] == after[new_end - 1]:
        end, new_end = end - 1, new_end - 1
    inner = Change(start, end, new_start, new_end)
    if start == end or new_start == new_end:
        if start != end or new_start != new_end:
            yield inner
        return
    if (end - start) * (new_end - new_start) <= _COMPARED:
        yield from _compared(before, after, inner)
        return
    anchors = _anchors(before, after, inner) if depth < _DEEPEST else []
    if not anchors:
        yield inner
        return
    place, new_place = start, new_start
    for anchor, new_anchor in (*anchors, (end, new_end)):
        yield from _changes(before, after, Change(place, anchor, new_place, new_anchor), depth + 1)
        place, new_place = anchor + 1, new_anchor + 1


def _compared(before: Sequence[str], after: Sequence[str], part: Change) -> Iterator[Change]:
    old, new = before[part.start : part.end], after[part.new_start : part.new_end]
    for tag, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield Change(
                part.start + start, part.start + end, part.new_start + new_start, part.new_start + new_end
            )


def _anchors(before: Sequence[str], after: Sequence[str], part: Change) -> list[tuple[int, int]]:
    """The longest run of lines that stand once on either side and in the same order."""
    places = _once(before, part.start, part.end)
    new_places = _once(after, part.new_start, part.new_end)
    pairs = [(place, new_places[line]) for line, place in places.items() if line in new_places]
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for number, (_, new_place) in enumerate(pairs):
        length = bisect_left(tails, new_place)
        tails[length : length + 1], ends[length : length + 1] = [new_place], [number]
        previous.append(ends[length - 1] if length else -1)
    chain: list[tuple[int, int]] = []
    number = ends[-1] if ends else -1
    while number >= 0:
        chain.append(pairs[number])
        number = previous[number]
    return chain[::-1]


def _once(lines: Sequence[str], start: int, end: int) -> dict[str, int]:
    counts = Counter(lines[start:end])
    return {lines[place]: place for place in range(start, end) if counts[lines[place]] == 1}
