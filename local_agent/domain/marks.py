"""What a person wants of a part of the conversation: to be kept in requests, or left out of them.

Like pictures that are forgotten it is a marker on the path, so that it can be undone and is forked along.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
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


_TEXT = re.compile(r"(pin|drop|free) (\d+)", re.ASCII)


def mark_text(mark: Mark, entry_id: int) -> str:
    """The text of the marker. ``entry_id`` is a question's, for all of its turn, or a result's."""
    return f"{mark} {entry_id}"


def mark_of(entry: Entry) -> tuple[Mark, int] | None:
    """What a marker says, and of which entry; None for anything else."""
    found = _TEXT.fullmatch(entry.text) if entry.kind is Kind.MARKER else None
    return (Mark(found[1]), int(found[2])) if found is not None else None


def marks_of(path: Sequence[Entry]) -> dict[int, Mark]:
    """By entry, what a path says of it last; nothing of what is free again."""
    found: dict[int, Mark] = {}
    for entry in path:
        if (said := mark_of(entry)) is not None:
            mark, key = said
            found.pop(key, None)
            if mark is not Mark.FREE:
                found[key] = mark
    return found
