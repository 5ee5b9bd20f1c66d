"""Typeset Markdown under the hands of a person: its code is copied, its links are followed."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.geometry import Offset, Region
from textual.widget import Widget

from local_agent.tui.conversation.copying import copy
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import Code, Line
from local_agent.tui.markdown.code import COPY
from local_agent.tui.markdown.inline import HREF, links
from local_agent.tui.markdown.stops import Stop, stops
from local_agent.tui.widgets.lines_view import LinesView


class MarkdownView(LinesView, can_focus=True):
    """With the focus on it keys go from code to code and link to link.

    A click does what the keys do and leaves the focus where it is. ``source`` is Markdown that was
    sanitised but for its tabs.
    """

    FOCUS_ON_CLICK = False
    DEFAULT_CSS = """
    MarkdownView:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "copy", "Copy the code, or the answer", id="reply.copy", show=False),
        Binding("enter", "follow", "Open the link, or copy the code", id="reply.follow", show=False),
        Binding("left", "move(-1)", "Back to the code or link before", id="reply.previous", show=False),
        Binding("right", "move(1)", "On to the next code or link", id="reply.next", show=False),
        Binding("escape", "leave", "Back to the prompt", id="reply.leave", show=False),
    ]

    def __init__(self, source: str, glyphs: Glyphs) -> None:
        super().__init__()
        self.source = source
        self._glyphs = glyphs
        self._stop: Stop | None = None

    @property
    def whole(self) -> str | None:
        return self.source.strip("\n")

    def decorated(self, line: Line, y: int) -> Line:
        # By what it is, not by its row: for another width it stands elsewhere.
        target = self._stop.target if self._stop is not None and self.has_focus else None
        if target is None:
            return line
        if line.part == target and line.aside is not None:
            return replace(line, aside=Content.styled(f"{COPY} c", "bold $text-primary"))
        content = line.content
        for start, end, url in links(content):
            if url == target:
                content = content.stylize("bold $text-primary", start, end)
        return replace(line, content=content)

    def on_focus(self) -> None:
        """Code is what one comes for most; without any a link is reached by the arrow keys."""
        self._stop = next((stop for stop in self._stops() if isinstance(stop.target, Code)), None)
        self._go_to(self._stop)

    def on_blur(self) -> None:
        self.refresh()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        url = event.style.meta.get(HREF)
        tooltip = Content(url) if isinstance(url, str) else None
        if tooltip != self.tooltip:
            self.tooltip = tooltip

    def on_leave(self) -> None:
        self.tooltip = None

    def on_click(self, event: events.Click) -> None:
        if event.chain > 1 or self.text_selection is not None:
            return
        url = event.style.meta.get(HREF)
        place = event.get_content_offset(self)
        if isinstance(url, str):
            self._follow(url)
        elif place is not None and (code := self._copy_sign_at(place)) is not None:
            copy(self.app, code.source, "The code")

    def action_copy(self) -> None:
        """Copy the code that is gone to, else all of the answer."""
        target = self._stop.target if self._stop is not None else None
        if isinstance(target, Code):
            copy(self.app, target.source, "The code")
        elif target is not None:
            copy(self.app, target, "The address")
        else:
            copy(self.app, self.source, "The answer")

    def action_follow(self) -> None:
        """Open the link that is gone to, after a look at it; copy anything else."""
        if self._stop is not None and isinstance(self._stop.target, str):
            self._follow(self._stop.target)
        else:
            self.action_copy()

    def action_move(self, step: int) -> None:
        """Go to the next code or link; behind the last and before the first one is the whole answer."""
        found: list[Stop | None] = [None, *self._stops()]
        alike = [place for place, stop in enumerate(found) if _same_target(stop, self._stop)]
        place = found.index(self._stop) if self._stop in found else alike[0] if alike else 0
        self._go_to(found[(place + step) % len(found)])

    def action_leave(self) -> None:
        """Give the focus back to where one types."""
        home = self.screen.query(self.screen.AUTO_FOCUS) if self.screen.AUTO_FOCUS else None
        if home:
            home.first().focus()

    def _stops(self) -> list[Stop]:
        return stops(self.lines_for(self.size.width))

    def _go_to(self, stop: Stop | None) -> None:
        self._stop = stop
        self.refresh()
        if stop is not None:
            # After what Textual scrolls when the focus changes.
            self.call_after_refresh(self._bring_into_view, stop)

    def _bring_into_view(self, stop: Stop) -> None:
        rows = Region(0, stop.top, self.size.width, stop.bottom - stop.top + 1)
        if isinstance(self.parent, Widget):
            self.parent.scroll_to_region(rows.translate(self.virtual_region.offset), animate=False)

    def _follow(self, url: str) -> None:
        from local_agent.tui.screens.link import follow

        follow(self.app, url, self._glyphs)

    def _copy_sign_at(self, place: Offset) -> Code | None:
        """The code that the sign at the right edge of a row belongs to."""
        rows = self.lines_for(self.size.width)
        row = rows[place.y] if place.y < len(rows) else None
        if row is None or row.aside is None or place.x < self.size.width - row.aside.cell_length:
            return None
        return row.part if isinstance(row.part, Code) else None


def _same_target(one: Stop | None, other: Stop | None) -> bool:
    return one is not None and other is not None and one.target == other.target
