"""The models on their way, in one line above the composer while one talks."""

from __future__ import annotations

from time import monotonic

from textual.content import Content
from textual.widgets import Static

from local_agent.domain.text import one_line
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.pulls import Pull, Pulls

TICK_SECONDS = 0.25


class PullLine(Static):
    """Hidden while nothing is fetched."""

    DEFAULT_CSS = """
    PullLine { height: 1; padding: 0 2; color: $text-muted; display: none; }
    PullLine.-busy { display: block; }
    """

    def __init__(self, pulls: Pulls, key: str, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(markup=False)
        self._pulls = pulls
        self._key = key
        self._glyphs = glyphs

    def on_mount(self) -> None:
        self.set_interval(TICK_SECONDS, self.look)
        self.look()

    def look(self) -> None:
        """Draw how far they are."""
        running = self._pulls.running
        self.set_class(bool(running), "-busy")
        if running:
            more = f"{len(running) - 1} more" if len(running) > 1 else ""
            width = self.content_size.width or self.app.size.width - 4
            line = pull_words(running[-1], self._glyphs, monotonic(), more, f"{self._key} shows it")
            self.update(line.truncate(width, ellipsis=True), layout=False)


def pull_words(pull: Pull, glyphs: Glyphs, now: float, *more: str) -> Content:
    """``pulling qwen3:4b · 48% · 1.2 of 2.5 GB · 12 MB/s · 2 min left``"""
    dot = f" {glyphs.dot} "
    rest = dot.join(part for part in (*pull.meter.parts(now), *more) if part)
    name = Content.assemble("pulling ", (one_line(pull.name), "$text"))
    return Content.assemble(name, dot, rest) if rest else name


