"""Shown instead of everything while the terminal is too small to show a question."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen
from textual.widgets import Static

LEAST_WIDTH, LEAST_HEIGHT = 30, 12


def too_small(width: int, height: int) -> bool:
    """True where the main screen cannot be used."""
    return width < LEAST_WIDTH or height < LEAST_HEIGHT


class TooSmallScreen(ModalScreen[None]):
    """One sentence, and no key but Ctrl+C: what is hidden can't be answered."""

    DEFAULT_CSS = """
    TooSmallScreen { align: center middle; background: $background; }
    TooSmallScreen Static { width: 1fr; height: auto; text-align: center; color: $text-muted; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+c", "app.leave", "Leave", id="too_small.leave", show=False)
    ]

    def compose(self) -> ComposeResult:
        yield Static(f"Please make this window at least {LEAST_WIDTH} x {LEAST_HEIGHT}.", markup=False)

    def on_key(self, event: events.Key) -> None:
        if event.key != "ctrl+c":
            event.stop()
            event.prevent_default()

    def on_resize(self, event: events.Resize) -> None:
        if self.is_current and not too_small(event.size.width, event.size.height):
            self.dismiss()
