"""What the model is doing right now, and for how long: one line above the composer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import seconds, tokens

if TYPE_CHECKING:
    from local_agent.domain.entries import Usage
    from local_agent.domain.events import Phase

TICK_SECONDS = 0.2
CHARACTERS_PER_TOKEN = 4
LEAST_TOKENS = 200
"""A shorter prompt is read before a guess at it could be read."""
REAL_LOAD_SECONDS = 0.2
"""A server tells of a few milliseconds when the model was loaded already."""
_ALMOST = 0.95
"""A guess is given up before it says that everything is read: the first word says that."""

_GIVE_WAY = (4, 1, 2)
"""Where a line is too long: how long it usually takes, how far it is, how fast it goes."""

_WORDS: Mapping[str, str] = {
    "loading": "loading model",
    "reading": "reading the prompt",
    "thinking": "thinking",
    "writing": "writing",
    "compacting": "summarising earlier turns",
    "stopping": "stopping",
}


class Pace(NamedTuple):
    """What the last turn teaches of the next; None where nothing was measured."""

    context_tokens: int = 0
    """What the next prompt begins with."""
    prompt_tokens_per_second: float | None = None
    load_seconds: float | None = None
    """How long the model usually takes to load."""

    def after(self, usage: Usage) -> Pace:
        """With one more turn's numbers."""
        read, took = usage.prompt_tokens, usage.prompt_seconds
        rate = read / took if read and took else self.prompt_tokens_per_second
        context = (read or 0) + (usage.reply_tokens or 0) if read else self.context_tokens
        load = self.load_seconds
        if load is None and (usage.load_seconds or 0) >= REAL_LOAD_SECONDS:
            load = usage.load_seconds
        return Pace(context, rate, load)

    def reading(self, characters: int, passed: float) -> str:
        """``about 800 of 1.2k tokens`` of a prompt that grew by so many characters; empty for a short one."""
        total = self.context_tokens + characters // CHARACTERS_PER_TOKEN
        if total < LEAST_TOKENS:
            return ""
        done = (self.prompt_tokens_per_second or 0.0) * passed
        if not 0 < done < total * _ALMOST:
            return f"about {tokens(_round(total))} tokens"
        return f"about {tokens(_round(done))} of {tokens(_round(total))} tokens"


class PhaseLine(Static):
    """Hidden while nothing runs. ``begin``, ``show`` phases, count tokens, ``end``."""

    DEFAULT_CSS = """
    PhaseLine { height: 1; padding: 0 2; color: $text-muted; display: none; }
    PhaseLine.-busy { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE, *, moving: bool = True) -> None:
        super().__init__()
        self.pace = Pace()
        self._glyphs = glyphs
        self._frames = glyphs.spinner if moving else glyphs.waiting
        self._frame = 0
        self._words = ""
        self._note = ""
        self._progress = ""
        self._characters = 0
        self._began = 0.0
        self._phase_began = 0.0
        self._pieces = 0
        self._first_piece = 0.0
        self._tick_timer: Timer | None = None

    def set_moving(self, moving: bool) -> None:
        """Whether the sign before the words moves."""
        self._frames, self._frame = self._glyphs.spinner if moving else self._glyphs.waiting, 0

    def begin(self, words: str = "asking", characters: int = 0) -> None:
        """A turn begins, with a question of so many characters."""
        self._words, self._note, self._progress = words, "", ""
        self._characters = characters
        self._began = self._phase_began = monotonic()
        self._pieces = 0
        self.add_class("-busy")
        self._draw()
        if self._tick_timer is None:
            self._tick_timer = self.set_interval(TICK_SECONDS, self._tick)

    def show(self, phase: Phase, done: int | None = None, total: int | None = None) -> None:
        """The wait has a new reason."""
        if self._words != _WORDS[phase]:
            self._words, self._phase_began = _WORDS[phase], monotonic()
        self._note = ""
        self._progress = f"{tokens(done)} of {tokens(total)} tokens" if done is not None and total else ""
        self._draw()

    def say(self, words: str) -> None:
        """What is waited for is nothing that the model does."""
        self._words, self._phase_began = words, monotonic()
        self._note = self._progress = ""
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

    def learn(self, usage: Usage) -> None:
        """A reply is complete: the next one can be guessed at."""
        self.pace = self.pace.after(usage)

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
        separator = f" {self._glyphs.dot} "
        room = (self.content_size.width or self.app.size.width - 4) - 2
        text = fitting(self._parts(), separator, room)
        if self._note:
            text += separator + self._note
        sign = (self._frames[self._frame], "$text-primary")
        line = Content.assemble(sign, " ", text)
        self.update(line.truncate(room + 2, ellipsis=True), layout=False)

    def _parts(self) -> list[str]:
        """What is going on, how far it is, how fast it goes, and how long it takes."""
        passed = monotonic() - self._phase_began
        progress = self._progress
        usual = ""
        if self._words == _WORDS["reading"] and not progress:
            progress = self.pace.reading(self._characters, passed)
        elif self._words == _WORDS["loading"] and self.pace.load_seconds is not None:
            usual = f"usually {seconds(self.pace.load_seconds)}"
        elapsed = f"{monotonic() - self._began:.0f} s"
        return [self._words, progress, self._speed(), elapsed, usual]

    def _speed(self) -> str:
        took = monotonic() - self._first_piece
        if self._words not in (_WORDS["thinking"], _WORDS["writing"]) or self._pieces < 8 or took < 0.5:
            return ""
        return f"{self._pieces / took:.0f} tok/s"


def fitting(parts: Sequence[str], separator: str, room: int) -> str:
    """The parts that fit, in their order; those of ``_GIVE_WAY`` are left out one after another."""
    kept = dict(enumerate(parts))
    for number in _GIVE_WAY:
        if len(separator.join(filter(None, kept.values()))) <= room:
            break
        del kept[number]
    return separator.join(filter(None, kept.values()))


def _round(count: float) -> int:
    """To two figures, as befits a guess."""
    whole = int(count)
    if whole < 100:
        return whole
    step = int(10 ** (len(str(whole)) - 2))
    return round(whole / step) * step
