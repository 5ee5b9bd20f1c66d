"""Some lines between transcript and composer, and the one that stands for them in a low terminal."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static


class ComposerStrip(Vertical):
    """Hidden while it has nothing to show. Which of both is seen, the screen's style sheet says."""

    DEFAULT_CSS = """
    ComposerStrip {
        height: auto;
        padding: 0 2;
        color: $text-muted;
        display: none;
        & Static { height: auto; width: 1fr; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    ComposerStrip.-any { display: block; }
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines = Static(classes="lines", markup=False)
        self._short = Static(classes="short", markup=False)

    def compose(self) -> ComposeResult:
        yield self._lines
        yield self._short

    def draw(self, lines: Sequence[Content], short: Content | None = None) -> None:
        """Show these lines; ``short`` is all of it in one."""
        self.set_class(bool(lines), "-any")
        self._lines.update(Content("\n").join(lines))
        self._short.update(short or (lines[0] if lines else Content("")))
