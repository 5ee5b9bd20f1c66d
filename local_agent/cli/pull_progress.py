"""The progress of a pull on standard error: one line over itself in a terminal, else a line now and then."""

from __future__ import annotations

import shutil
import sys

from local_agent.cli.streams import say
from local_agent.domain.models import PullProgress
from local_agent.domain.text import one_line
from local_agent.tui.models.pull_meter import PullMeter

_REDRAWN_EVERY = 0.1
"""Seconds."""
_TOLD_EVERY = 10
"""Percent, where nothing can be drawn over itself."""


class PullPrinter:
    """``note`` every step, ``end`` once it is over, however."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._meter = PullMeter()
        self._in_place = sys.stderr.isatty()
        self._drawn = 0.0
        self._told = ""

    def note(self, step: PullProgress, now: float) -> None:
        """Take in a step; ``now`` is of a monotonic clock, in seconds."""
        self._meter.note(step, now)
        if self._in_place:
            if now - self._drawn >= _REDRAWN_EVERY:
                self._drawn = now
                self._draw(now)
        else:
            self._tell()

    def end(self) -> None:
        """Leave the line to what comes next."""
        if self._in_place and self._drawn:
            self._drawn = 0.0
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self, now: float) -> None:
        width = shutil.get_terminal_size().columns - 1
        line = one_line(f"{self._name}  {'  '.join(self._meter.parts(now))}", width)
        sys.stderr.write(f"\r{line}\x1b[K")
        sys.stderr.flush()

    def _tell(self) -> None:
        """Each stage once, and each tenth of the bytes."""
        told = self._meter.status
        if self._meter.layer is not None:
            percent = int(self._meter.share * 100) // _TOLD_EVERY * _TOLD_EVERY
            told = f"{percent}%"
        if told and told != self._told:
            self._told = told
            say(f"{self._name}: {told}")
