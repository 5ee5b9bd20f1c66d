"""A terminal as a person would see it: two screens, the modes in force, and every byte that arrived."""

from __future__ import annotations

import re

import pyte
from pyte.screens import wcwidth

# CSI with any private marker, and OSC/DCS/APC strings; pyte knows neither "<" and "=" markers nor DCS.
_SEQUENCE = re.compile(
    rb"\x1b\[(?P<marker>[<=>?]?)(?P<parameters>[0-9;:]*)(?P<between>[ -/]*)(?P<final>[@-~])"
    rb"|\x1b[PX^_\]](?P<string>[^\x07\x1b]*)(?:\x07|\x1b\\)"
)
_UNFINISHED = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*|[PX^_\]][^\x07\x1b]*\x1b?)?\Z")
_ALTERNATE = {47, 1047, 1049}
CURSOR_SHOWN = 25
MODES_AT_REST = frozenset({7, CURSOR_SHOWN})


class Emulator:
    """Feed it the bytes of a pseudo-terminal; ask it what is shown and what state the terminal is in."""

    def __init__(self, columns: int, rows: int) -> None:
        self.raw = bytearray()
        self.modes = set(MODES_AT_REST)
        self.keyboard_depth = 0
        """How many keyboard protocol levels were pushed and not popped (CSI > u, CSI < u)."""
        self.clipboard: list[bytes] = []
        """Payloads of OSC 52, as sent."""
        self._screens = (pyte.Screen(columns, rows), pyte.Screen(columns, rows))
        self._streams = tuple(pyte.ByteStream(screen) for screen in self._screens)
        self._tail = b""

    @property
    def alternate(self) -> bool:
        """Whether the full-screen buffer is the one shown."""
        return bool(self.modes & _ALTERNATE)

    @property
    def screen(self) -> pyte.Screen:
        """The buffer that is shown."""
        return self._screens[self.alternate]

    @property
    def lines(self) -> list[str]:
        """The rows that are shown, without trailing blanks."""
        return [self._row(row).rstrip() for row in range(self.screen.lines)]

    @property
    def text(self) -> str:
        """All rows that are shown."""
        return "\n".join(self.lines).rstrip()

    def _row(self, row: int) -> str:
        """pyte's own reading fails on the second half of a wide character whose first was overwritten."""
        shown, wide = "", False
        for column in range(self.screen.columns):
            cell = self.screen.buffer[row][column].data
            if cell or not wide:
                shown += cell or " "
            wide = bool(cell) and wcwidth(cell[0]) == 2
        return shown

    def resize(self, columns: int, rows: int) -> None:
        for screen in self._screens:
            screen.resize(rows, columns)

    def feed(self, data: bytes) -> None:
        self.raw += data
        data = self._tail + data
        unfinished = _UNFINISHED.search(data)
        self._tail = unfinished.group() if unfinished else b""
        data = data[: len(data) - len(self._tail)]
        start = 0
        for sequence in _SEQUENCE.finditer(data):
            self._draw(data[start : sequence.start()])
            self._obey(sequence)
            start = sequence.end()
        self._draw(data[start:])

    def _draw(self, data: bytes) -> None:
        if data:
            self._streams[self.alternate].feed(data)

    def _obey(self, sequence: re.Match[bytes]) -> None:
        if sequence["string"] is not None:
            if sequence["string"].startswith(b"52;"):
                self.clipboard.append(sequence["string"].split(b";", 2)[-1])
            return
        marker, final = sequence["marker"], sequence["final"]
        numbers = [int(number) for number in re.findall(rb"\d+", sequence["parameters"])]
        if marker == b"?" and final in b"hl" and not sequence["between"]:
            change = self.modes.update if final == b"h" else self.modes.difference_update
            change(numbers)
        elif final == b"u" and marker in (b">", b"<"):
            popped = numbers[0] if numbers else 1
            self.keyboard_depth = max(0, self.keyboard_depth + (1 if marker == b">" else -popped))
        elif not marker and not sequence["between"]:
            self._draw(sequence.group())
