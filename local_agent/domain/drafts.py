"""Work that was typed and not sent."""

from __future__ import annotations

from typing import NamedTuple


class Draft(NamedTuple):
    """Unsent work: the composer's text and the prompts queued behind a running turn, in order."""

    text: str
    queue: tuple[str, ...] = ()

    @property
    def empty(self) -> bool:
        """True when there is nothing worth keeping."""
        return not self.text.strip() and not self.queue
