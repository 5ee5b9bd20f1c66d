"""What Up and Down in the composer bring back."""

from __future__ import annotations

from collections.abc import Sequence


class Recall:
    """Earlier questions, newest first, with what was being typed at the near end."""

    def __init__(self) -> None:
        self.cleared: str | None = None
        """A draft cleared by Ctrl+C: offered once, before anything else."""
        self._older: Sequence[str] | None = None
        self._place = -1
        self._typed = ""

    @property
    def active(self) -> bool:
        """True while the composer shows something recalled."""
        return self._older is not None

    def begin(self, questions: Sequence[str], typed: str) -> None:
        """Start from what is typed now."""
        offered = [self.cleared] if self.cleared else []
        self.cleared = None
        distinct = dict.fromkeys([*offered, *questions])
        distinct.pop(typed, None)
        self._older = tuple(distinct)
        self._place = -1
        self._typed = typed

    def older(self) -> str | None:
        """The next older question; None when there is none."""
        if self._older is None or self._place + 1 >= len(self._older):
            return None
        self._place += 1
        return self._older[self._place]

    def newer(self) -> str | None:
        """The next newer one, and at last what was typed; None when nothing is recalled."""
        if self._older is None or self._place < 0:
            return None
        self._place -= 1
        if self._place >= 0:
            return self._older[self._place]
        return self._typed

    def end(self) -> None:
        """The person edits or sends: the next Up starts anew."""
        self._older = None
