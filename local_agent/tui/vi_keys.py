"""Keys that stand for other keys: vi's where nothing is typed, and moving on in a list while one types."""

from __future__ import annotations

from typing import Any

from textual import events
from textual.binding import Binding
from textual.screen import Screen

VI = {
    "j": "down",
    "k": "up",
    "g": "home",
    "G": "end",
    "ctrl+d": "pagedown",
    "ctrl+u": "pageup",
    "slash": "ctrl+f",
}
"""In viewers and in lists without a filter, when ``ui.vi`` is on."""
FILTERED = {"ctrl+j": "down", "ctrl+n": "down", "ctrl+k": "up"}
"""In a list that narrows as one types, always: the letters are text there."""


def meant(event: events.Key, screen: Screen[Any], *, vi: bool) -> events.Key:
    """The key that this one stands for on a screen; itself where it means something of its own."""
    typing = event.key in FILTERED
    key = FILTERED.get(event.key) or (VI.get(event.key) if vi else None)
    if key is None or _types(screen) is not typing or (typing and not _narrows_a_list(screen)):
        return event
    bound = screen.active_bindings
    if not typing and (event.key in bound or event.key in getattr(screen, "letters", ())):
        return event
    return events.Key(key, None) if key != "ctrl+f" or key in bound else event


def _types(screen: Screen[Any]) -> bool:
    """Whether a letter would become text."""
    return screen.focused is not None and screen.focused.check_consume_key("j", "j")


def _narrows_a_list(screen: Screen[Any]) -> bool:
    return any(isinstance(each, Binding) and each.action == "move('cursor_down')" for each in screen.BINDINGS)
