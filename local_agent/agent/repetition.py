"""Notices a reply that goes round in circles."""

from __future__ import annotations

BLOCK = 200
TIMES = 3
LONGEST_PERIOD = 2000

_CHECK_EVERY = 50


class RepetitionWatch:
    """Looks at the end of a growing text for one block that stands there three times in a row.

    The block is at least 200 characters: one long passage, or a short one many times over.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._unchecked = 0

    def feed(self, text: str) -> bool:
        """Take more text; True when its end repeats."""
        self._unchecked += len(text)
        self._tail = (self._tail + text)[-LONGEST_PERIOD * TIMES :]
        if self._unchecked < _CHECK_EVERY:
            return False
        self._unchecked = 0
        return repeats(self._tail)


def repeats(text: str) -> bool:
    """True when ``text`` ends in the same 200 or more characters three times in a row."""
    if len(text) < BLOCK * TIMES:
        return False
    last = text[-BLOCK:]
    earlier = text.rfind(last, 0, -1)
    if earlier < 0:
        return False
    period = len(text) - BLOCK - earlier
    run = max(BLOCK, period) * TIMES
    return len(text) >= run and text[-run:-period] == text[-run + period :]
