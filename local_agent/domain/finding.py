"""Words that are looked for in a conversation, and where they were found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from local_agent.domain.entries import Entry, Kind
from local_agent.domain.text import one_line, sanitise

LONGEST = 1000
"""Characters of what is looked for; the rest is left out."""

_BLANK = re.compile("[ \t\n]")


@dataclass(frozen=True, slots=True)
class Sought:
    """Literal words. Small letters find capitals too; a space also finds a line end."""

    words: str
    thinking: bool = False
    """Look into what the model thought, too."""

    @classmethod
    def of(cls, typed: str, *, thinking: bool = False) -> Sought:
        """What a person typed or pasted, however hostile; may come out empty."""
        return cls(one_line(typed[: 10 * LONGEST])[:LONGEST], thinking)

    @property
    def exact(self) -> bool:
        """True when a capital was typed: then letters find only themselves."""
        return self.words.lower() != self.words

    @property
    def pattern(self) -> re.Pattern[str]:
        """Finds the words in text that is drawn."""
        pieces = (_BLANK.pattern if char == " " else re.escape(char) for char in self.words)
        return re.compile("".join(pieces), 0 if self.exact else re.IGNORECASE)

    def count(self, text: str) -> int:
        """How often the words stand in a stored text, as it is drawn."""
        if not self.words:
            return 0
        if not (text.isascii() and self.words.isascii()):
            # Hidden characters may stand between letters. Most texts have none, and asking costs less.
            drawn = text if text.replace("\n", "").isprintable() else sanitise(text)
            return sum(1 for _ in self.pattern.finditer(drawn))
        if " " in self.words:
            text = text.replace("\n", " ").replace("\t", " ")
        return (text if self.exact else text.lower()).count(self.words)


class Found(NamedTuple):
    """One text with the words in it."""

    entry_id: int
    times: int
    thinking: bool = False
    """True when it is what the model thought."""


class FoundPart(NamedTuple):
    """A part of a conversation that was looked through, newest first."""

    found: tuple[Found, ...]
    rest: int | None
    """The newest entry that was not looked at yet; None when all were."""


def found_in(sought: Sought, entry_id: int, text: str, thinking: str) -> list[Found]:
    """What is found in one entry, the lower on the screen first."""
    counts = [Found(entry_id, sought.count(text))]
    if sought.thinking:
        counts.append(Found(entry_id, sought.count(thinking), thinking=True))
    return [found for found in counts if found.times]


def found_in_entries(sought: Sought, entries: list[Entry]) -> tuple[Found, ...]:
    """What is found in entries of a path that are at hand, given oldest first."""
    return tuple(
        found
        for entry in reversed(entries)
        if entry.kind in SHOWN
        for found in found_in(sought, entry.id, entry.text, entry.thinking)
    )


SHOWN = (Kind.QUESTION, Kind.ASSISTANT)
"""Entries whose text stands in the transcript."""
