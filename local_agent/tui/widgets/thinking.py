"""The model's thinking: one dim line that unfolds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive
from textual.timer import Timer

from local_agent.domain.text import GrowingText
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.growing_lines import JoinedLines, PlainLines
from local_agent.tui.look.lines import Line, decoration
from local_agent.tui.widgets.lines_view import LinesView

FLUSH_SECONDS = 0.1
SHOWN_CHARACTERS = 100_000
"""Of thinking that is longer only the end is unfolded."""


class Thinking(LinesView, can_focus=True):
    """``feed`` it while the model thinks, then say with ``finish`` how long it took.

    ``about`` is how long a stored one took, in seconds, as far as that can be told.
    """

    DEFAULT_CSS = """
    Thinking { margin: 0 1 1 2; color: $text-muted; }
    Thinking:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle('opened')", "Unfold", id="thinking.toggle", show=False)
    ]

    opened: reactive[bool] = reactive(False, layout=True)

    FOCUS_ON_CLICK = False

    def __init__(
        self, text: str = "", glyphs: Glyphs = UNICODE, *, live: bool = False, about: float | None = None
    ) -> None:
        super().__init__()
        self.source = text
        self.live = live
        self._glyphs = glyphs
        self._took = about
        self._measured = False
        self._pending: list[str] = []
        self._flush_timer: Timer | None = None
        self._body: PlainLines | None = None
        self._body_width = 0
        self._arriving = GrowingText()

    def lines_for(self, width: int) -> Sequence[Line]:
        bar = Content.styled(self._glyphs.side_bar + " ", "$text-muted")
        heading = replace(decoration(self._heading(), "$text-muted").behind(bar), joint="")
        if not self.opened:
            return [heading]
        if self._body is None or self._body_width != width:
            shown = self.source.lstrip("\n") if self.live else self.source.strip("\n")
            self._arriving = GrowingText()
            text = self._arriving.feed(shown[-SHOWN_CHARACTERS:])
            self._body, self._body_width = PlainLines(width, text, bar), width
        lines = JoinedLines(gap=None)
        lines.finish([heading])
        lines.open(self._body)
        return lines

    def feed(self, text: str) -> None:
        """Add thinking; it is drawn with the next flush, when unfolded."""
        self._pending.append(text)
        if self._flush_timer is None:
            self._flush_timer = self.set_interval(FLUSH_SECONDS, self._flush)

    def finish(self, took: float | None) -> None:
        """The model has stopped thinking, after ``took`` seconds."""
        if self._flush_timer is not None:
            self._flush_timer.stop()
            self._flush_timer = None
        self._flush()
        self.live = False
        self._took = took
        self._measured = True
        self.refresh(layout=True)

    def on_click(self) -> None:
        self.opened = not self.opened

    def _flush(self) -> None:
        if not self._pending:
            return
        text = "".join(self._pending)
        self._pending.clear()
        self.source += text
        if self._body is not None and self.opened:
            self._body.feed(self._arriving.feed(text))
            self.refresh(layout=True)
        else:
            self._body = None

    def _heading(self) -> str:
        sign = self._glyphs.opened if self.opened else self._glyphs.closed
        if self.live:
            return f"thinking {sign}"
        took = f" for {_in_words(self._took, measured=self._measured)}" if self._took is not None else ""
        return f"thought{took} {sign}"


def _in_words(took: float, *, measured: bool) -> str:
    if took < 1:
        return "a moment"
    minutes, rest = divmod(round(took), 60)
    words = f"{minutes} min {rest} s" if minutes else f"{rest} s"
    return words if measured else f"about {words}"
