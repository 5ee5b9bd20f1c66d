"""One line to type into: a paste becomes one line that is safe to draw."""

from __future__ import annotations

from textual import events
from textual.widgets import Input

from local_agent.domain.text import one_line

PASTED = 1000
"""Characters of a paste that are taken."""


class LineInput(Input):
    """Textual's own draws whatever a pasted line holds, controls too."""

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        line = one_line(event.text[:PASTED])
        if self.selection.is_empty:
            self.insert_text_at_cursor(line)
        else:
            self.replace(line, *self.selection)
