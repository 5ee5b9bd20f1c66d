"""How far a piece of long work is."""

from __future__ import annotations

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from local_agent.tui.look.glyphs import UNICODE, Glyphs


class Bar(Widget):
    """Its done part stands higher, in the accent colour; all low while nothing is known."""

    DEFAULT_CSS = """
    Bar { height: 1; }
    """

    share: reactive[float] = reactive(0.0)

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._open, self._done = glyphs.levels[0], glyphs.levels[3]

    def validate_share(self, share: float) -> float:
        return min(max(share, 0.0), 1.0)

    def render(self) -> RenderResult:
        done = round(self.size.width * self.share)
        return Content.assemble(
            (self._done * done, "$primary"), (self._open * (self.size.width - done), "$border-blurred")
        )
