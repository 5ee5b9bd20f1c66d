"""What stands in requests for turns that left the window: one quiet line that unfolds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.reactive import reactive

from local_agent.domain.entries import Entry, Origin
from local_agent.domain.summaries import heading, read_note
from local_agent.domain.text import one_line, sanitise
from local_agent.domain.tree import words_of
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line, decoration, indented, wrap
from local_agent.tui.widgets.lines_view import LinesView

LISTED = 200
"""Of what left the newest are listed."""
_FIRST_LINE = 100

Left = Callable[[], Awaitable[Sequence[Entry]]]
"""Reads what left the window, oldest first; raises nothing."""


class Summary(LinesView, can_focus=True):
    """``left`` is asked when it is unfolded first."""

    DEFAULT_CSS = """
    Summary { margin: 1 1 1 2; color: $text-muted; }
    Summary:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle('opened')", "Unfold", id="summary.toggle", show=False)
    ]
    FOCUS_ON_CLICK = False
    hints = (("enter", "unfold"),)

    opened: reactive[bool] = reactive(False, layout=True)

    def __init__(self, entry: Entry, glyphs: Glyphs = UNICODE, left: Left | None = None) -> None:
        super().__init__()
        self.source = entry.text
        self._note = read_note(entry.context)
        self._by_program = entry.origin is Origin.PROGRAM
        self._glyphs = glyphs
        self._left = left
        self._listed: Sequence[Entry] = ()
        self._cached: tuple[int, bool, Sequence[Line]] = (0, False, ())

    @property
    def heading(self) -> str:
        """What it says while it is folded."""
        return heading(self._note, by_program=self._by_program, to=self._glyphs.to)

    def lines_for(self, width: int) -> Sequence[Line]:
        if self._cached[:2] != (width, self.opened):
            self._cached = (width, self.opened, self._lines(width))
        return self._cached[2]

    def on_click(self) -> None:
        self.opened = not self.opened

    def watch_opened(self, opened: bool) -> None:
        if opened and self._left is not None:
            self.run_worker(self._read(self._left), group="summary")

    async def _read(self, left: Left) -> None:
        self._left = None
        self._listed = await left()
        self._cached = (0, False, ())
        self.refresh(layout=True)

    def _lines(self, width: int) -> list[Line]:
        sign = self._glyphs.opened if self.opened else self._glyphs.closed
        rows = wrap(Content.styled(f"{self.heading} {sign}", "$text-muted"), width - 2)
        plain = [replace(decoration(row.content.plain, "$text-muted"), joint="") for row in rows]
        lines = indented(plain, Content.styled(f"{self._glyphs.dot} ", "$text-muted"), Content("  "))
        if not self.opened:
            return lines
        bar = Content.styled(f"{self._glyphs.side_bar} ", "$text-muted")
        body = wrap(Content.styled(sanitise(self.source.strip()), "$text-muted"), width - 4)
        body += [Line(Content("")), *self._list(width - 4)] if self._listed else []
        return [*lines, *indented(body, Content("  ") + bar)]

    def _list(self, width: int) -> list[Line]:
        more = self._note.left - len(self._listed)
        shown = f" (the newest {len(self._listed)})" if more > 0 else ""
        rows = [decoration(f"What left the window{shown}; it stands above and stays stored:", "$text-muted")]
        for entry in self._listed:
            first = one_line(words_of(entry).strip().partition("\n")[0], _FIRST_LINE)
            calls = ", ".join(one_line(call.name, 40) for call in entry.calls)
            said = first or (f"called {calls}" if calls else "(pictures)" if entry.pictures else "")
            row = Content.styled(f"{self._sign(entry)} {said}", "$text-muted")
            rows.append(Line(row.truncate(max(width, 2), ellipsis=True)))
        return rows

    def _sign(self, entry: Entry) -> str:
        return self._glyphs.dot if entry.origin is Origin.MODEL else self._glyphs.prompt
