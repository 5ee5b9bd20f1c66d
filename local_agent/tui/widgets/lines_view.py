"""A widget of typeset lines: draws only the rows in view, and its text can be selected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region, Size
from textual.message import Message
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style
from textual.widget import Widget

from local_agent.tui.look.lines import Line, selected_text

if TYPE_CHECKING:
    from local_agent.domain.finding import Sought

DRAWN_ROWS = 200
"""Of one view; of more only those in view are kept as they were drawn."""


class Marking:
    """A container in whose lines words are marked."""

    sought: Sought | None = None
    chosen: tuple[Widget, tuple[int, int]] | None = None
    """The view, the row and the character of the words that were gone to last."""


class LinesView(Widget):
    """Subclasses say what the lines of a width are; the same width must cost nothing the second time."""

    @dataclass
    class Outdated(Message):
        """A view was laid out for a width that setting its rows for takes long."""

    DEFAULT_CSS = """
    LinesView { width: 1fr; height: auto; }
    """

    hints: ClassVar[Sequence[tuple[str, str]]] = ()
    """Keys that mean something while it has the focus, and what they do, for the footer."""
    drawn = False
    """True once rows of it are kept as they were drawn."""

    def lines_for(self, width: int) -> Sequence[Line]:
        """The rows for ``width`` cells."""
        raise NotImplementedError

    @property
    def stale(self) -> bool:
        """True while the rows are still those of another width, because setting them anew takes long."""
        return False

    async def catch_up(self) -> None:
        """Set the rows for the width there is now."""

    @property
    def whole(self) -> str | None:
        """What a selection of everything is; None where that is what is drawn."""
        return None

    def decorated(self, line: Line, y: int) -> Line:
        """Row ``y`` as it is drawn now; its characters stay the same, so that what is selected does."""
        return line

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self.lines_for(width)) if width else 0

    def render_lines(self, crop: Region) -> list[Strip]:
        if len(self._styles_cache._cache) > DRAWN_ROWS:
            self.forget_drawn()
        self.drawn = True
        return super().render_lines(crop)

    def forget_drawn(self) -> None:
        """Give back what rows were drawn with: a row holds some forty objects. It is drawn anew in view."""
        self._styles_cache.clear()
        self.drawn = False

    def render_line(self, y: int) -> Strip:
        width = self.size.width
        lines = self.lines_for(width)
        base = self.visual_style
        if y >= len(lines):
            return Strip.blank(width, base.rich_style)
        line = lines[y]
        if isinstance(self.parent, Marking) and self.parent.sought is not None:
            from local_agent.tui.conversation.marks import marked  # only while something is looked for

            chosen = self.parent.chosen
            spot = chosen[1] if chosen is not None and chosen[0] is self else None
            line = marked(lines, y, self.parent.sought, spot)
        line = self.decorated(line, y)
        segments: list[Segment] = []
        x = 0
        for text, style in self._selected(line, y).render(base, end="", parse_style=_style):
            segments.append(Segment(text, (base + style).rich_style_with_offset(x, y)))
            x += len(text)
        strip = Strip(segments, line.content.cell_length)
        if line.aside is not None:
            strip = _with_aside(strip, line.aside, base, width)
        return strip.adjust_cell_length(width, base.rich_style)

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        lines = self.lines_for(self.size.width)
        start, end = selection
        everything = start in (None, (0, 0)) and (end is None or end.y >= len(lines))
        text = self.whole if everything and self.whole is not None else selected_text(lines, selection)
        return (text, "\n\n") if text else None

    def selection_updated(self, selection: Selection | None) -> None:
        self.refresh()

    def _selected(self, line: Line, y: int) -> Content:
        selection = self.text_selection
        span = selection.get_span(y) if selection is not None else None
        if span is None:
            return line.content
        start, end = span
        end = len(line.content) if end == -1 else end
        style = Style.from_styles(self.screen.get_component_styles("screen--selection"))
        return line.content.stylize(style, max(start, line.gutter), end)


def _with_aside(strip: Strip, aside: Content, base: Style, width: int) -> Strip:
    """Put ``aside`` at the right edge, where there is room for it."""
    room = width - strip.cell_length - aside.cell_length
    if room < (1 if strip.cell_length else 0):
        return strip
    segments = [
        Segment(text, (base + style).rich_style)
        for text, style in aside.render(base, end="", parse_style=_style)
    ]
    return Strip([*strip, Segment(" " * room, base.rich_style), *segments])


def _style(style: str | Style) -> Style:
    return style if isinstance(style, Style) else Style.parse(style)
