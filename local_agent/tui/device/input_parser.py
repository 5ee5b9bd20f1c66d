"""What the terminal sends, taken apart into keys and pastes; a paste is taken as it came."""

from __future__ import annotations

from collections.abc import Generator, Iterable

from textual import events
from textual._xterm_parser import BRACKETED_PASTE_END, BRACKETED_PASTE_START, XTermParser
from textual.message import Message


class InputParser(XTermParser):
    """Textual's own takes an escape within a paste for a key sequence, and presses what follows it.

    Of a pasted log with colours some characters would be lost, and others pressed, Enter among them. It
    drops NUL, too, and looks at each character of a paste, which takes seconds for a large one.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._before = ""
        """The last characters outside of a paste: a bracket may come in pieces."""
        self._pasted: list[str] | None = None
        self._held = ""

    def feed(self, data: str) -> Iterable[Message]:
        if not data:
            yield from super().feed(data)
        while data:
            if self._pasted is None:
                data = yield from self._keys(data)
            else:
                data = yield from self._paste(data)

    def _keys(self, data: str) -> Generator[Message, None, str]:
        """Up to the beginning of a paste; what is left after it."""
        known = len(self._before)
        text = self._before + data
        place = text.find(BRACKETED_PASTE_START)
        end = len(text) if place < 0 else place + len(BRACKETED_PASTE_START)
        yield from super().feed(text[known:end])
        if place < 0:
            self._before = text[1 - len(BRACKETED_PASTE_START) :]
            return ""
        self._before, self._pasted = "", []
        return text[end:]

    def _paste(self, data: str) -> Generator[Message, None, str]:
        """Up to the end of a paste; what is left after it."""
        assert self._pasted is not None
        text, found, rest = (self._held + data).partition(BRACKETED_PASTE_END)
        if not found:
            kept = _begun(text, BRACKETED_PASTE_END)
            self._pasted.append(text[: len(text) - kept])
            self._held = text[len(text) - kept :]
            return ""
        pasted = "".join((*self._pasted, text))
        self._pasted, self._held = None, ""
        # Textual's own believes that an empty paste has ended.
        for token in super().feed(BRACKETED_PASTE_END):
            if not isinstance(token, events.Paste):
                yield token
        yield events.Paste(pasted)
        return rest


def _begun(text: str, mark: str) -> int:
    """How many characters at the end of ``text`` may be the beginning of ``mark``."""
    return next((size for size in range(len(mark) - 1, 0, -1) if text.endswith(mark[:size])), 0)
