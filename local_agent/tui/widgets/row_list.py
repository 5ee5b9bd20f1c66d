"""A list of one-line rows that are laid out when drawn, so that any number of them costs no widget."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual import events
from textual.content import Content
from textual.css.styles import RulesMap
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.style import Style
from textual.visual import RenderOptions, Visual
from textual.widgets import OptionList

from local_agent.tui.look.glyphs import UNICODE, Glyphs

POINTER_WIDTH = 2
_PLAIN = ("option-list--option",)
_CHOSEN = ("option-list--option", "option-list--option-highlighted")


class Row(Visual):
    """One line whose columns are chosen for the width it is given."""

    def __init__(self, draw: Callable[[int], Content]) -> None:
        self._draw = draw
        self._drawn: tuple[tuple[int, Style] | None, Strip] = (None, Strip([]))

    def strip(self, width: int, style: Style) -> Strip:
        """The row over what lies beneath it; drawn once."""
        key = (width, style)
        if self._drawn[0] != key:
            room = max(width - POINTER_WIDTH, 1)
            # Content's own way to strips wraps and aligns, which costs more than all else of a row.
            parts = fit(self._draw(room), room).render(style, "", _parsed)
            segments = [Segment(text, (style + part).rich_style) for text, part in parts]
            self._drawn = (key, Strip([Segment(" " * POINTER_WIDTH, style.rich_style), *segments], width))
        return self._drawn[1]

    def render_strips(
        self, width: int, height: int | None, style: Style, options: RenderOptions
    ) -> list[Strip]:
        return [self.strip(width, style)]

    def get_optimal_width(self, rules: RulesMap, container_width: int) -> int:
        return container_width

    def get_height(self, rules: RulesMap, width: int) -> int:
        return 1


class RowList(OptionList, can_focus=False):
    """Rows with a pointer at the chosen one; a click chooses, a click on the chosen one opens."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"row-list--pointer"}
    DEFAULT_CSS = """
    RowList {
        height: 1fr;
        border: none;
        padding: 0;
        background: transparent;
        scrollbar-size-vertical: 1;
        & > .option-list--option { padding: 0; }
        & > .option-list--option-highlighted { text-style: none; }
        & > .row-list--pointer { color: $primary; text-style: bold; }
    }
    """

    @dataclass
    class NearEnd(Message):
        """The last rows are coming into sight: the next page is wanted."""

        row_list: RowList

        @property
        def control(self) -> RowList:
            return self.row_list

    def __init__(self, *, id: str | None = None, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(id=id, markup=False)
        self.auto_links = False
        self._pointer = f"{glyphs.prompt} "
        self._styles = (Style.null(), Style.null())
        """How a plain row and the chosen one look in what is being drawn."""

    def render_lines(self, crop: Region) -> list[Strip]:
        self._styles = (self.get_visual_style(*_PLAIN), self.get_visual_style(*_CHOSEN))
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        line = self.scroll_offset.y + y
        row = self.options[line].prompt if line < self.option_count else None
        chosen = line == self.highlighted
        if isinstance(row, Row) and not self.mouse_hover:
            # Without the number that a row carries for the mouse, which costs as much as all else of it.
            strip = row.strip(self.scrollable_content_region.width, self._styles[chosen])
        else:
            strip = super().render_line(y)
        if not chosen or row is None:
            return strip
        style = self.get_visual_style(*_CHOSEN, "row-list--pointer")
        pointer = Strip([Segment(self._pointer, style.rich_style)], POINTER_WIDTH)
        return Strip.join([pointer, strip.crop(POINTER_WIDTH)])

    def on_enter(self) -> None:
        # Rows are drawn with what the mouse needs only while it is here.
        self.refresh()

    def on_click(self, event: events.Click) -> None:
        event.prevent_default()
        clicked = self.scroll_offset.y + event.y
        if clicked >= self.option_count or self.options[clicked].disabled:
            return
        if clicked == self.highlighted:
            self.action_select()
        else:
            self.highlighted = clicked

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self.option_count and new_value + self.size.height >= self.max_scroll_y:
            self.post_message(self.NearEnd(self))


def fit_text(text: str, width: int) -> str:
    """Exactly ``width`` cells of plain text: cut with an ellipsis or padded on the right."""
    if cell_len(text) > width:
        return set_cell_size(text, max(width - 1, 0)) + "…"[:width]
    return set_cell_size(text, width)


def fit(content: Content, width: int) -> Content:
    """Exactly ``width`` cells: cut with an ellipsis or padded on the right."""
    cut = content.truncate(width, ellipsis=True)
    return cut.pad_right(width - cut.cell_length)


def fit_right(content: Content, width: int) -> Content:
    """Exactly ``width`` cells: cut with an ellipsis or padded on the left."""
    cut = content.truncate(width, ellipsis=True)
    return cut.pad_left(width - cut.cell_length)


def _parsed(style: str | Style) -> Style:
    return style if isinstance(style, Style) else Style.parse(style)
