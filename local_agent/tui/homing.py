"""What is typed while the conversation has the focus reaches the prompt."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.screen import Screen

from local_agent.tui.widgets.lines_view import LinesView


def come_home(event: events.Key | events.Paste, screen: Screen[Any]) -> None:
    """Give the focus to where one types, when text comes and what has the focus takes none.

    Keys that mean something on the screen stay what they are. At once, so that the next key finds it there.
    """
    if screen.focused is not None and not isinstance(screen.focused, LinesView):
        return
    if isinstance(event, events.Key) and (not event.is_printable or event.key in screen.active_bindings):
        return
    if composers := screen.query("Composer"):
        screen.set_focus(composers.first())
