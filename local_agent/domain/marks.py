"""What a person wants of a part of the conversation: to be kept in requests, or left out of them.

Like pictures that are forgotten it is a marker on the path, so that it can be undone and is forked along.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from enum import StrEnum

from local_agent.domain.entries import Entry, Kind


class Mark(StrEnum):
    """What is wanted."""

    PIN = "pin"
    """A compaction keeps it word for word."""
    DROP = "drop"
    """It is sent no more."""
    FREE = "free"
    """Neither."""


_TEXT = re.compile(r"(pin|drop|free) (\d{1,19})", re.ASCII)


def mark_text(mark: Mark, entry_id: int) -> str:
    """The text of the marker. ``entry_id`` is a question's, for all of its turn, or a result's."""
    return f"{mark} {entry_id}"


def mark_of(entry: Entry) -> tuple[Mark, int] | None:
    """What a marker says, and of which entry; None for anything else."""
    return mark_said(entry.text) if entry.kind is Kind.MARKER else None


def mark_said(text: str) -> tuple[Mark, int] | None:
    """What ``mark_text`` wrote; None for any other text."""
    found = _TEXT.fullmatch(text)
    return (Mark(found[1]), int(found[2])) if found is not None else None


def marks_of(path: Sequence[Entry]) -> dict[int, Mark]:
    """By entry, what a path says of it last; nothing of what is free again."""
    return last_said(said for entry in path if (said := mark_of(entry)) is not None)


def last_said(marks: Iterable[tuple[Mark, int]]) -> dict[int, Mark]:
    """By entry, what holds of it after all of these, oldest first."""
    found: dict[int, Mark] = {}
    for mark, key in marks:
        found.pop(key, None)
        if mark is not Mark.FREE:
            found[key] = mark
    return found
