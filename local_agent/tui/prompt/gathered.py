"""Earlier questions as they come from the store: each once, and those that hold what is typed."""

from __future__ import annotations

from collections.abc import Iterable

from local_agent.domain.asked import AskedQuestion

MOST = 5_000
"""Questions that are looked through."""


class Gathered:
    """Newest first, in the order in which they are added."""

    def __init__(self) -> None:
        self._found: list[tuple[str, AskedQuestion]] = []
        self._texts: set[str] = set()

    def __len__(self) -> int:
        return len(self._found)

    @property
    def full(self) -> bool:
        """True when no more are looked through."""
        return len(self._found) >= MOST

    def add(self, questions: Iterable[AskedQuestion]) -> None:
        """Take what was not asked in the same words before."""
        for question in questions:
            if question.text not in self._texts and not self.full:
                self._texts.add(question.text)
                self._found.append((question.text.casefold(), question))

    def matching(self, typed: str) -> list[AskedQuestion]:
        """Those in which every typed word stands, in either case."""
        words = typed.casefold().split()
        return [question for text, question in self._found if all(word in text for word in words)]
