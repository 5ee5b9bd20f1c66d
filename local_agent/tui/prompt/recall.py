"""What Up and Down in the composer bring back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from local_agent.domain.drafts import Prompt

FIRST = 50
"""Questions that the first Up reads."""
MORE = 4
"""How many times as many are read once they are used up."""


class Recall:
    """Earlier questions, newest first, with what was being typed at the near end."""

    def __init__(self) -> None:
        self._let_go: list[Prompt] = []
        self._older: Sequence[Prompt] | None = None
        self._offered: tuple[Prompt, ...] = ()
        self._place = -1
        self._typed = Prompt("")
        self._read = 0
        self._complete = False

    @property
    def active(self) -> bool:
        """True while the composer shows something recalled."""
        return self._older is not None

    @property
    def wanted(self) -> int | None:
        """How many questions to read before the next step to an older one; None: there are enough."""
        if self._older is None:
            return FIRST
        if self._complete or self._place + 1 < len(self._older):
            return None
        return self._read * MORE

    def let_go(self, prompt: Prompt) -> None:
        """A draft was cleared: it is offered once, before anything else."""
        self._let_go.append(prompt)

    def take(self, questions: Iterable[str], read: int, typed: Prompt) -> None:
        """Go on with all that was read; the first time, from what is typed now."""
        if self._older is None:
            self._offered, self._typed, self._place = tuple(reversed(self._let_go)), typed, -1
            self._let_go.clear()
        before = len(self._older or ())
        # Pictures belong to what is being written: a question of the past has only its words.
        asked = [Prompt(text, self._typed.pictures) for text in questions]
        distinct: dict[str, Prompt] = {}
        for prompt in (*self._offered, *asked):
            distinct.setdefault(prompt.text, prompt)
        distinct.pop(self._typed.text, None)
        self._older = tuple(distinct.values())
        # The same number again when four times as many were asked for: there are no more.
        self._complete = self._read > 0 and len(self._older) == before
        self._read = read

    def older(self) -> Prompt | None:
        """The next older question; None when there is none."""
        if self._older is None or self._place + 1 >= len(self._older):
            return None
        self._place += 1
        return self._older[self._place]

    def newer(self) -> Prompt | None:
        """The next newer one, and at last what was typed; None when nothing is recalled."""
        if self._older is None or self._place < 0:
            return None
        self._place -= 1
        return self._older[self._place] if self._place >= 0 else self._typed

    def end(self) -> None:
        """The person edits or sends: the next Up starts anew."""
        self._older, self._read, self._complete = None, 0, False
