"""One line to type into: a paste becomes one line that is safe to draw."""

from __future__ import annotations

from textual import events
from textual.widgets import Input
from textual.widgets.input import Selection

from local_agent.domain.graphemes import cluster_end, cluster_start
from local_agent.domain.text import one_line

PASTED = 1000
"""Characters of a paste that are taken."""


class LineInput(Input):
    """Textual's own draws whatever a pasted line holds, controls too, and edits by code points."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        line = one_line(event.text[:PASTED])
        if self.selection.is_empty:
            self.insert_text_at_cursor(line)
        else:
            self.replace(line, *self.selection)

    def validate_selection(self, selection: Selection) -> Selection:
        """Whoever moves the cursor, it goes on to the next place between two characters."""
        old, selection = self.selection, super().validate_selection(selection)
        return Selection(self._next(old.start, selection.start), self._next(old.end, selection.end))

    def replace(self, text: str, start: int, end: int) -> None:
        low, high = sorted((max(start, 0), max(end, 0)))
        if low != high:
            low, high = cluster_start(self.value, low), cluster_end(self.value, high)
        super().replace(text, low, high)

    def _next(self, before: int, now: int) -> int:
        return cluster_start(self.value, now) if now < before else cluster_end(self.value, now)
