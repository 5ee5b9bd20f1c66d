"""What the program notes with a summary: what left the window, what it weighed, what stays word for word.

It is the ``context`` of the summary's entry, which is never sent.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

_LEFT = re.compile(r"left (\d{1,19})", re.ASCII)
_TOKENS = re.compile(r"tokens (\d{1,19}) (\d{1,19})", re.ASCII)
_STAY = re.compile(r"stay((?: \d{1,19}-\d{1,19})+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class SummaryNote:
    """The facts of one summary; zeros where they are not known."""

    left: int = 0
    """Questions, commands and replies that are sent no more."""
    tokens_before: int = 0
    tokens_after: int = 0
    """Of a request, estimated."""
    stay: tuple[tuple[int, int], ...] = ()
    """First and last entries of what is sent word for word although it is older than what is kept: pinned
    turns, and the markers that say something of them."""

    @property
    def text(self) -> str:
        """As it is stored; ``read_note`` reads it."""
        lines = [f"left {self.left}", f"tokens {self.tokens_before} {self.tokens_after}"]
        if self.stay:
            lines.append("stay " + " ".join(f"{first}-{last}" for first, last in self.stay))
        return "\n".join(lines)


def read_note(context: str) -> SummaryNote:
    """What is noted with a summary; what can't be read of it counts as not noted."""
    note = SummaryNote()
    for line in context.split("\n")[:3]:
        if found := _LEFT.fullmatch(line):
            note = replace(note, left=int(found[1]))
        elif found := _TOKENS.fullmatch(line):
            note = replace(note, tokens_before=int(found[1]), tokens_after=int(found[2]))
        elif found := _STAY.fullmatch(line):
            note = replace(note, stay=_ranges(found[1]))
    return note


def heading(note: SummaryNote, *, by_program: bool, to: str = "->") -> str:
    """What a summary stands for, in one line without a stop."""
    line = "Earlier turns summarised" + (" by the program" if by_program else "")
    if note.left:
        line += f": {note.left:,} {'message' if note.left == 1 else 'messages'} left the window"
    if note.tokens_after:
        line += f", {note.tokens_before:,} {to} {note.tokens_after:,} tokens"
    return line


def _ranges(text: str) -> tuple[tuple[int, int], ...]:
    pairs = (part.split("-") for part in text.split())
    return tuple((int(first), int(last)) for first, last in pairs)


def within(entry_id: int, ranges: Sequence[tuple[int, int]]) -> bool:
    """Whether an entry stands in one of these ranges."""
    return any(first <= entry_id <= last for first, last in ranges)
