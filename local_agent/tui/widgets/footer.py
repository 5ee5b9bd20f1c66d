"""The last line: mode, session and the keys that matter now."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.app import RenderResult
from textual.content import Content
from textual.reactive import reactive
from textual.widget import Widget

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs

_COLOURS = {"PLAN": "$text-success", "AUTO": "$text-warning"}


class FooterFacts(NamedTuple):
    """What the footer says."""

    mode: str = "NORMAL"
    handle: str = ""
    title: str = ""
    saved: bool = True
    busy: bool = False
    asking: bool = False
    """A question waits."""
    message: str = ""
    """Stands in for the hints while it is set."""
    hints: tuple[tuple[str, str], ...] = ()
    """Keys of what has the focus, and what they do; none where one types."""


class Footer(Widget):
    """One line; hints go first, then the title is cut."""

    DEFAULT_CSS = """
    Footer { height: 1; padding: 0 2; color: $text-muted; }
    """

    facts: reactive[FooterFacts] = reactive(FooterFacts())

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs

    def render(self) -> RenderResult:
        width = self.size.width
        facts = self.facts
        left = self._session()
        choices = (
            [Content.styled(one_line(facts.message), "$text-warning")] if facts.message else self._hints()
        )
        right = next((hint for hint in choices if hint.cell_length + 24 <= width), choices[-1])
        room = width - right.cell_length - (2 if right else 0)
        if left.cell_length > room:
            left = left.truncate(max(0, room), ellipsis=True)
        return Content.assemble(left, " " * max(0, width - left.cell_length - right.cell_length), right)

    def _session(self) -> Content:
        facts = self.facts
        parts = [Content.styled(one_line(facts.mode), f"bold {_COLOURS.get(facts.mode, '$text-primary')}")]
        if not facts.saved:
            parts.append(Content.styled("not saved", "$text-warning"))
        elif facts.handle:
            title = f" {self._glyphs.dot} {one_line(facts.title)}" if facts.title else ""
            parts.append(Content.assemble((facts.handle, "$text"), title))
        return Content("  ").join(parts)

    def _hints(self) -> list[Content]:
        hints = [("esc", "stop"), ("enter", "queue"), ("f1", "help")]
        if self.facts.hints:
            return self._joined(self.facts.hints)
        if self.facts.asking:
            hints = [("esc", "no"), ("pgup", "scroll"), ("f1", "help")]
        elif not self.facts.busy:
            hints = [("enter", "send"), ("ctrl+s", "sessions"), ("f1", "help")]
        pieces = [Content.assemble((key, "$text"), f" {what}") for key, what in hints]
        separator = Content(f" {self._glyphs.dot} ")
        return [separator.join(pieces), separator.join([pieces[0], pieces[2]]), pieces[2], Content("")]

    def _joined(self, hints: Sequence[tuple[str, str]]) -> list[Content]:
        """All of them, and fewer and fewer of the first ones."""
        separator = Content(f" {self._glyphs.dot} ")
        pieces = [Content.assemble((key, "$text"), f" {what}") for key, what in hints]
        return [separator.join(pieces[:count]) for count in range(len(pieces), -1, -1)]
