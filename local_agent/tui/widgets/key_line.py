"""The last line of a screen: its keys and what they do."""

from __future__ import annotations

from typing import Any

from textual.app import RenderResult
from textual.binding import Binding
from textual.content import Content
from textual.screen import Screen
from textual.style import Style
from textual.widget import Widget

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.key_names import key_name


class KeyLine(Widget):
    """The screen's shown bindings in their order; as many whole ones as the width holds, clickable."""

    DEFAULT_CSS = """
    KeyLine {
        height: 1;
        color: $text-muted;
        link-color: $text-muted;
        link-style: none;
        link-background: transparent;
        link-color-hover: $primary;
        link-style-hover: none;
        link-background-hover: transparent;
    }
    """

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._separator = f" {glyphs.dot} "

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._changed)

    def _changed(self, screen: Screen[Any]) -> None:
        self.refresh()

    def render(self) -> RenderResult:
        line = Content("")
        for binding in self._shown():
            # Markup would not take an action such as ``shift(-1)``.
            click = Style.from_meta({"@click": f"screen.{binding.action}"})
            piece = Content.styled(f"{key_name(binding.key)} {binding.description}", click)
            longer = piece if not line else Content.assemble(line, self._separator, piece)
            if longer.cell_length > self.size.width:
                break
            line = longer
        return line

    def _shown(self) -> list[Binding]:
        """In the order of their declaration; the chain that Textual walks puts priority keys first."""
        shown: dict[str | None, Binding] = {}
        for active in self.screen.active_bindings.values():
            if active.node is self.screen and active.binding.show and active.enabled:
                shown.setdefault(active.binding.id, active.binding)
        order = [declared.id for declared in self.screen.BINDINGS if isinstance(declared, Binding)]
        return sorted(shown.values(), key=lambda binding: order.index(binding.id))
