"""Pastes that are not drawn: a token stands for the text, and gives it back unchanged."""

from __future__ import annotations

import re

from local_agent.tui.look.quantities import counted
from local_agent.tui.widgets.whole_characters import Span, is_drawable

FOLDED_LINES = 10
FOLDED_CHARACTERS = 2_000

_TOKEN = re.compile(r"\[pasted #(\d+): [^\[\]\n]*\]")
_BREAKS = re.compile("\r\n|\r")


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
        return self.token(text)

    def token(self, text: str) -> str:
        """What stands for ``text`` from now on."""
        self._count += 1
        count = text.count("\n") + 1
        size = counted(count, "line") if count > 1 else counted(len(text), "character")
        token = f"[pasted #{self._count}: {size}]"
        self._texts[token] = text
        return token

    def text_of(self, token: str) -> str | None:
        """What a token stands for; None for what only looks like one."""
        return self._texts.get(token)

    def expanded(self, text: str) -> str:
        """``text`` with every token replaced by what it stands for."""
        if "[pasted #" not in text:
            return text
        return _TOKEN.sub(lambda match: self._texts.get(match.group(), match.group()), text)

    def refolded(self, text: str) -> str:
        """The inverse of ``expanded``, as far as the texts still stand in it as they were."""
        for token, pasted in self._texts.items():
            if pasted and pasted in text:
                text = text.replace(pasted, token, 1)
        return text

    def spans(self, line: str) -> list[Span]:
        """Where tokens stand in a line."""
        if "[pasted #" not in line:
            return []
        return [match.span() for match in _TOKEN.finditer(line) if match.group() in self._texts]
