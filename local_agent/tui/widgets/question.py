"""What the person asked: behind an accent bar, with its time, folded when it is long."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive

from local_agent.domain.text import sanitise
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.lines import TAB_SIZE, Line, decoration, indented, wrap
from local_agent.tui.quantities import clock, counted
from local_agent.tui.widgets.lines_view import LinesView

FOLDED_ROWS = 20
OPENED_CHARACTERS = 40_000
"""A longer question is stored and sent whole, but its rest is not drawn."""
ASIDE_ROOM = 8


class Question(LinesView, can_focus=False):
    """One question. ``failed`` marks one that was never answered."""

    DEFAULT_CSS = """
    Question { margin: 1 1 1 0; }
    Question:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle('opened')", "Unfold", id="question.toggle", show=False)
    ]

    failed: reactive[bool] = reactive(False)
    opened: reactive[bool] = reactive(False, layout=True)

    def __init__(self, text: str, asked_at: str = "", glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.source = text
        self._asked_at = asked_at
        self._glyphs = glyphs
        self._cached: tuple[object, Sequence[Line]] = (None, ())
        self.can_focus = len(self._excerpt(False)) < len(text)

    def stamp(self, asked_at: str) -> None:
        """Say when the question was stored."""
        self._asked_at = asked_at
        self.refresh()

    def lines_for(self, width: int) -> Sequence[Line]:
        key = (width, self._asked_at, self.failed, self.opened)
        if self._cached[0] != key:
            self._cached = (key, self._typeset(width))
        return self._cached[1]

    def on_click(self) -> None:
        if self.can_focus:
            self.opened = not self.opened

    def _excerpt(self, opened: bool) -> str:
        if opened:
            return self.source[:OPENED_CHARACTERS]
        head = self.source[:4_000]
        lines = head.split("\n")
        return "\n".join(lines[:FOLDED_ROWS]) if len(lines) > FOLDED_ROWS else head

    def _typeset(self, width: int) -> list[Line]:
        excerpt = self._excerpt(self.opened)
        text = Content(sanitise(excerpt).rstrip("\n").expandtabs(TAB_SIZE)).stylize("$text")
        rows = wrap(text, width - 2 - ASIDE_ROOM)
        if self.can_focus:
            rows.append(decoration(self._rest(len(excerpt)), "$text-muted"))
        bar = Content.styled(self._glyphs.bar + " ", "$text-error" if self.failed else "$text-primary")
        rows = indented(rows, bar)
        first = rows[0]
        rows[0] = Line(first.content, first.gutter, first.joint, self._aside())
        return rows

    def _aside(self) -> Content:
        time = Content.styled(clock(self._asked_at), "$text-muted")
        if not self.failed:
            return time
        return Content.assemble((f"{self._glyphs.error} failed  ", "$text-error"), time)

    def _rest(self, shown: int) -> str:
        rest = self.source[shown:]
        if self.opened:
            more = f"{counted(len(rest), 'more character')}, kept and sent" if rest else "fold"
            return f"{more} {self._glyphs.opened}"
        lines = rest.count("\n")
        more = counted(lines, "more line") if lines else counted(len(rest), "more character")
        return f"{self._glyphs.ellipsis} {more} {self._glyphs.closed}"
