"""Pastes that are not drawn: a token stands for the text, and gives it back unchanged."""

from __future__ import annotations

import re

from local_agent.domain.text import sanitise
from local_agent.tui.quantities import counted

FOLDED_LINES = 10
FOLDED_CHARACTERS = 2_000

_TOKEN = re.compile(r"\[pasted #(\d+): [^\[\]\n]*\]")
_BREAKS = re.compile("\r\n|\r")


def is_drawable(text: str) -> bool:
    """True for text that a text area may draw as it is; tabs it draws itself."""
    spaced = text.replace("\t", " ")
    return sanitise(spaced) == spaced


class Pastes:
    """The folded texts of one composer."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._count = 0

    def folded(self, text: str, lines: int = FOLDED_LINES, characters: int = FOLDED_CHARACTERS) -> str:
        """``text`` as it goes into the composer: a token when it is long, or not safe to draw."""
        text = _BREAKS.sub("\n", text)
        if text.count("\n") < lines and len(text) <= characters and is_drawable(text):
            return text
        self._count += 1
        count = text.count("\n") + 1
        size = counted(count, "line") if count > 1 else counted(len(text), "character")
        token = f"[pasted #{self._count}: {size}]"
        self._texts[token] = text
        return token

    def expanded(self, text: str) -> str:
        """``text`` with every token replaced by what it stands for."""
        return _TOKEN.sub(lambda match: self._texts.get(match.group(), match.group()), text)

    def token_before(self, line: str, column: int) -> str | None:
        """The token that ends at ``column``, if one does."""
        for match in _TOKEN.finditer(line):
            if match.end() == column and match.group() in self._texts:
                return match.group()
        return None

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where tokens stand in a line."""
        return [match.span() for match in _TOKEN.finditer(line) if match.group() in self._texts]
