"""The models on their way, in one line above the composer while one talks."""

from __future__ import annotations

from time import monotonic

from textual.content import Content
from textual.timer import Timer
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.models.pulls import Pull, Pulls, PullStage

TICK_SECONDS = 0.25


class PullLine(Static):
    """Hidden while nothing is fetched; what has come, or has not, stands there until it was looked at."""

    DEFAULT_CSS = """
    PullLine { height: 1; padding: 0 2; color: $text-muted; display: none; }
    PullLine.-busy { display: block; }
    """

    def __init__(self, pulls: Pulls, key: str, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(markup=False)
        self._pulls = pulls
        self._key = key
        self._glyphs = glyphs
        self._ticking: Timer | None = None

    def on_mount(self) -> None:
        self._ticking = self.set_interval(TICK_SECONDS, self.look)
        self.look()

    def on_resize(self) -> None:
        self.look()

    def look(self) -> None:
        """Draw how far they are, again and again for as long as something comes."""
        if self._ticking is not None and self._pulls.running:
            self._ticking.resume()
        elif self._ticking is not None:
            self._ticking.pause()
        pull = self._pulls.latest
        self.set_class(pull is not None, "-busy")
        if pull is not None:
            others = len(self._pulls.running) - 1
            more = f"{others} more" if others > 0 else ""
            width = self.content_size.width or self.app.size.width - 4
            line = pull_words(pull, self._glyphs, monotonic(), more, self._key)
            self.update(line.truncate(width, ellipsis=True), layout=False)


def pull_words(pull: Pull, glyphs: Glyphs, now: float, more: str, key: str) -> Content:
    """``pulling qwen3:4b · 48% · 1.2 of 2.5 GB · 12 MB/s · 2 min left · f4 shows it``"""
    name = (one_line(pull.name), "$text")
    match pull.stage:
        case PullStage.RUNNING:
            begin = Content.assemble("pulling ", name)
            parts = [*pull.meter.parts(now), more, f"{key} shows it"]
        case PullStage.DONE:
            begin = Content.assemble((f"{glyphs.ok} ", "$text-success"), name, " is here")
            parts = [f"{key} uses it"]
        case _:
            begin = Content.assemble((f"{glyphs.warning} ", "$text-warning"), name, " did not come")
            parts = [f"{key} tries again"]
    return Content(f" {glyphs.dot} ").join([begin, *(Content(part) for part in parts if part)])
