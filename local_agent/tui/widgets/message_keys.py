"""Keys that do something with the message that has the focus."""

from __future__ import annotations

from textual.binding import Binding, BindingType

MARK_HINTS = (("+", "keep"), ("-", "leave out"))


def message_keys(owner: str) -> list[BindingType]:
    """For a widget whose bindings are named after ``owner``."""
    return [
        Binding("f", "screen.message('fork')", "Fork from here", id=f"{owner}.fork", show=False),
        Binding("plus", "screen.message('pin')", "Keep in every summary", id=f"{owner}.pin", show=False),
        Binding("minus", "screen.message('drop')", "Leave out of requests", id=f"{owner}.drop", show=False),
    ]
