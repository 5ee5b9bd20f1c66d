"""Puts one text in the place of another in a file's text, or says in words why that can't be done."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from local_agent.domain.tools import ToolFailed
from local_agent.tools.changing.closest import closest, numbered, place_of
from local_agent.tools.changing.endings import Searched, dressed, ending_near, with_line_feeds

LONGEST_OLD = 64 * 1024
"""Characters of ``old``; who replaces more than that writes the file anew."""
LONGEST_RESULT = 16_000_000
"""Characters that the new text may have at most; no file that is so large can be changed again."""
MOST_PLACES = 100_000
_NAMED = 5
"""Places that are named when a text stands in several."""
_NUMBER = re.compile(r"[ \t]*\d+(?:\t|[|:→] ?| {2,})")
EXAMPLE = 'For example: old="count = 1", new="count = 2".'


def replaced(text: str, old: str, new: str, *, everywhere: bool, shown: str) -> tuple[str, int]:
    """The text with ``new`` for ``old``, and in how many places; ``shown`` names the file in sentences.

    ``old`` and ``new`` have line feeds and fit files with other line ends. What stays keeps its bytes.
    Raises ``ToolFailed``.
    """
    old, new = with_line_feeds(old), with_line_feeds(new)
    _check(old, new, shown)
    searched = Searched(text)
    found = (
        list(searched.spans(old))
        if everywhere
        else list(islice(searched.spans(old, overlapping=True), _NAMED + 1))
    )
    if not found:
        raise ToolFailed(_not_found(searched, text, old, shown))
    if len(found) > 1 and not everywhere:
        raise ToolFailed(_ambiguous(text, [start for start, _ in found], shown))
    if len(found) > MOST_PLACES or len(text) + len(found) * len(new) > LONGEST_RESULT:
        raise ToolFailed(
            f"old stands in {shown} {len(found):,} times, too much to replace at once: give more of the "
            "lines around what you mean."
        )
    # Only where line ends differ has a new line to take one of them.
    plain = "\n" not in new or "\r\n" not in text
    pieces = []
    place = 0
    for start, end in found:
        pieces += [
            text[place:start],
            new if plain else dressed(new, text[start:end], ending_near(text, start)),
        ]
        place = end
    return "".join([*pieces, text[place:]]), len(found)


def _check(old: str, new: str, shown: str) -> None:
    if not old:
        raise ToolFailed(
            f"old is empty: it must be text that {shown} holds. {EXAMPLE} To fill an empty file, use write."
        )
    if len(old) > LONGEST_OLD:
        raise ToolFailed(
            f"old is too large: {len(old):,} characters of at most {LONGEST_OLD:,}. "
            f"Give only the lines that change and one or two around them. {EXAMPLE}"
        )
    if old == new:
        raise ToolFailed(f"old and new are the same: {shown} would not change. {EXAMPLE}")


def _ambiguous(text: str, starts: Sequence[int], shown: str) -> str:
    lines = ", ".join(f"{place_of(text, start):,}" for start in starts[:_NAMED])
    many = len(starts) > _NAMED
    return (
        f"old stands in {shown} {f'more than {_NAMED}' if many else len(starts)} times (at lines {lines}"
        f"{' and more' * many}). Give more of the lines around the one that you mean, so that it stands "
        "there once, or set all=true to change every one."
    )


def _not_found(searched: Searched, text: str, old: str, shown: str) -> str:
    bare = without_numbers(old)
    if bare is not None and bare in searched:
        return f"old was not found in {shown}: leave out the line numbers, they are not in the file."
    near = closest(text, old)
    if near is None:
        return f"old was not found in {shown}, nor anything like it. Read the file again."
    return (
        f"old was not found in {shown}. {near.differs} Closest, from line {near.first:,}:\n"
        f"{numbered(near.first, near.lines)}\nCopy old exactly from there, without the line numbers."
    )


def without_numbers(text: str) -> str | None:
    """The text without line numbers as ``read`` shows them; None when not every line has one."""
    lines = text.removesuffix("\n").split("\n")
    found = [_NUMBER.match(line) for line in lines]
    if not all(found):
        return None
    bare = [line[match.end() :] for line, match in zip(lines, found, strict=True) if match is not None]
    return "\n".join(bare) + "\n" * text.endswith("\n")
