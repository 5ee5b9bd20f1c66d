"""What a question or a piece of long work stands on, at the bottom of the screen."""

from __future__ import annotations

from textual.containers import Vertical


class Panel(Vertical):
    """As high as its content; one thin line of the accent colour parts it from what is behind."""

    DEFAULT_CSS = """
    Panel {
        width: 100%;
        height: auto;
        max-height: 100%;
        padding: 1 2;
        background: $surface;
        border-top: solid $primary;
        & > Static { height: auto; }
    }
    """
