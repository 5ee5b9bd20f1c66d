"""What the model is doing right now, and for how long: one line above the composer."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import TYPE_CHECKING

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.quantities import tokens

if TYPE_CHECKING:
    from local_agent.domain.events import Phase

TICK_SECONDS = 0.2

_WORDS: Mapping[str, str] = {
    "loading": "loading model",
    "reading": "reading the prompt",
    "thinking": "thinking",
    "writing": "writing",
    "stopping": "stopping",
}


class PhaseLine(Static):
    """Hidden while nothing runs. ``begin``, ``show`` phases, count tokens, ``end``."""

    DEFAULT_CSS = """
    PhaseLine { height: 1; padding: 0 2; color: $text-muted; display: none; }
    PhaseLine.-busy { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE, *, moving: bool = True) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._frames = glyphs.spinner if moving else glyphs.waiting
        self._frame = 0
        self._words = ""
        self._note = ""
        self._progress = ""
        self._began = 0.0
        self._pieces = 0
        self._first_piece = 0.0
        self._tick_timer: Timer | None = None

    def begin(self, words: str = "asking") -> None:
        """A turn begins."""
        self._words, self._note, self._progress = words, "", ""
        self._began = monotonic()
        self._pieces = 0
        self.add_class("-busy")
        self._draw()
        if self._tick_timer is None:
            self._tick_timer = self.set_interval(TICK_SECONDS, self._tick)

    def show(self, phase: Phase, done: int | None = None, total: int | None = None) -> None:
        """The wait has a new reason."""
        self._words, self._note = _WORDS[phase], ""
        self._progress = f"{tokens(done)} of {tokens(total)}" if done is not None and total else ""
        self._draw()

    def count(self) -> None:
        """A piece of thinking or text has come; a server sends about one a token."""
        if not self._pieces:
            self._first_piece = monotonic()
        self._pieces += 1
        self._note = ""

    def note(self, text: str) -> None:
        """Say why nothing comes."""
        self._note = one_line(text)
        self._draw()

    def end(self) -> None:
        """Nothing runs any more."""
        if self._tick_timer is not None:
            self._tick_timer.stop()
            self._tick_timer = None
        self.remove_class("-busy")

    def _tick(self) -> None:
        self._frame = (self._frame + 1) % len(self._frames)
        self._draw()

    def _draw(self) -> None:
        parts = [self._words, self._progress, self._speed(), f"{monotonic() - self._began:.0f} s", self._note]
        text = f" {self._glyphs.dot} ".join(part for part in parts if part)
        sign = (self._frames[self._frame], "$text-primary")
        self.update(Content.assemble(sign, " ", text), layout=False)

    def _speed(self) -> str:
        took = monotonic() - self._first_piece
        if self._words != _WORDS["writing"] or self._pieces < 8 or took < 0.5:
            return ""
        return f"{self._pieces / took:.0f} tok/s"
