"""The first line: where we are at the left, who answers and how full its window is at the right."""

from __future__ import annotations

from typing import NamedTuple

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import tokens


class HeaderFacts(NamedTuple):
    """What the header says. Empty and None: not known, and not shown."""

    folder: str
    branch: str = ""
    model: str = ""
    used: int | None = None
    window: int = 0
    read_only: bool = False
    unsaved: bool = False
    """Something on screen is not on disk."""
    thinking: str = ""
    """How much the model is to think, in words; empty while it is left to itself."""


class Header(Widget):
    """One line and a rule; what does not fit goes, least important first."""

    DEFAULT_CSS = """
    Header { height: 2; padding: 0 2; color: $text-muted; border-bottom: solid $border-blurred; }
    """

    facts: reactive[HeaderFacts] = reactive(HeaderFacts(""))

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs

    def render(self) -> RenderResult:
        mark = self._mark()
        width = self.size.width - mark.cell_length
        facts = self.facts
        dot = f" {self._glyphs.dot} "
        folder = Content.styled(one_line(facts.folder), "$text")
        place = Content.assemble(one_line(facts.branch), dot, folder) if facts.branch else folder
        model, thinking, meter = Content(one_line(facts.model)), Content(facts.thinking), self._meter()
        for left, right in (
            (place, Content(dot).join([part for part in (model, thinking, meter) if part])),
            (place, Content(dot).join([part for part in (model, meter) if part])),
            (place, model or meter),
            (folder, model or meter),
            (folder.truncate(max(6, width // 3), ellipsis=True), model),
        ):
            if left.cell_length + right.cell_length + 2 <= width:
                break
        room = max(0, width - left.cell_length - 2)
        right = right.truncate(room, ellipsis=True)
        gap = width - left.cell_length - right.cell_length
        return Content.assemble(mark, left, " " * max(1, gap), right)

    def _mark(self) -> Content:
        """What must not be overlooked; it stays however narrow the terminal is."""
        words = "NOT SAVED" if self.facts.unsaved else "READ-ONLY" if self.facts.read_only else ""
        return Content.assemble((words, "bold $text-warning"), "  ") if words else Content("")

    def _meter(self) -> Content:
        """``6.1k / 32k ▂``"""
        facts = self.facts
        if not facts.window:
            return Content("")
        if facts.used is None:
            return Content(tokens(facts.window))
        share = min(1.0, facts.used / facts.window)
        levels = self._glyphs.levels
        style = "$text-warning" if share > 0.85 else "$text-primary"
        level = levels[min(len(levels) - 1, int(share * len(levels)))]
        return Content.assemble(f"{tokens(facts.used)} / {tokens(facts.window)} ", (level, style))
