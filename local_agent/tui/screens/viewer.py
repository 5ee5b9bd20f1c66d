"""One message on the whole screen: typeset or as it was written, searched, copied."""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from dataclasses import replace
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, ScrollableContainer
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.finding import Sought
from local_agent.tui.conversation.copying import copy
from local_agent.tui.conversation.marks import Spot, spots
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.find_bar import FindBar
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.lines_view import Marking
from local_agent.tui.widgets.long_text import LongText, Look

SIDE_STEP = 8
"""Cells that a key scrolls sideways."""


class ViewerPage(ScrollableContainer, Marking, can_focus=False):
    """What the text is scrolled in: the keys are the screen's, so that they act during a search too."""


class ViewerScreen(Screen[None]):
    """The keys are those of pagers; ``source`` is copied whole, as it was written."""

    CSS_PATH = "viewer.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "close", "close", id="viewer.close"),
        Binding("slash,ctrl+f", "find", "find", id="viewer.find", priority=True),
        Binding("n", "find_next(1)", "Next place", id="viewer.next", show=False),
        Binding("N", "find_next(-1)", "The place before", id="viewer.previous", show=False),
        Binding("c", "copy", "copy", id="viewer.copy"),
        Binding("m", "look('raw')", "markdown", id="viewer.raw"),
        Binding("w", "look('broken')", "wrap", id="viewer.wrap"),
        Binding("j,down", "rows(1)", "Down", id="viewer.down", show=False),
        Binding("k,up", "rows(-1)", "Up", id="viewer.up", show=False),
        Binding("space,pagedown", "pages(1)", "Page down", id="viewer.page_down", show=False),
        Binding("b,pageup", "pages(-1)", "Page up", id="viewer.page_up", show=False),
        Binding("ctrl+d", "pages(0.5)", "Half a page down", id="viewer.half_down", show=False),
        Binding("ctrl+u", "pages(-0.5)", "Half a page up", id="viewer.half_up", show=False),
        Binding("g,home", "edge(0)", "Start", id="viewer.start", show=False),
        Binding("G,end", "edge(1)", "End", id="viewer.end", show=False),
        Binding("l,right", "aside(1)", "Right", id="viewer.right", show=False),
        Binding("h,left", "aside(-1)", "Left", id="viewer.left", show=False),
    ]

    def __init__(self, title: str, source: str, *, raw: bool = False, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._source = source
        self._glyphs = glyphs
        self._look = Look(raw=raw)
        self._heading = Static(Content.styled(title, "bold"), id="title", markup=False)
        self._place = Static(id="place", markup=False)
        self._text = LongText(source, glyphs)
        self._page = ViewerPage(self._text)
        self._bar = FindBar("this text")
        self._spots: list[Spot] = []
        self._words = ""
        """What was looked for last."""

    def compose(self) -> ComposeResult:
        yield Horizontal(self._heading, self._place, id="heading")
        yield self._page
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.watch(self._page, "scroll_y", self._show_place, init=False)

    def on_resize(self) -> None:
        self.call_after_refresh(self._typeset)

    def _typeset(self) -> None:
        self._text.show(self._look, self._page.scrollable_content_region.width)

    @on(LongText.Grown)
    def _grown(self, event: LongText.Grown) -> None:
        event.stop()
        self.call_after_refresh(self._show_place)

    def _show_place(self) -> None:
        total = len(self._text.lines)
        last = min(total, int(self._page.scroll_y) + self._page.size.height)
        more = "" if self._text.complete.is_set() else "+"
        self._place.update(f"{last:,} / {total:,}{more}")

    def action_close(self) -> None:
        self.dismiss(None)

    def action_copy(self) -> None:
        """Copy the whole text as it was written."""
        copy(self.app, self._source, "The whole text")

    async def action_look(self, what: str) -> None:
        """Show it in another way; what was read stays about where it was."""
        share = self._page.scroll_y / max(len(self._text.lines), 1)
        self._look = replace(self._look, **{what: not getattr(self._look, what)})
        self._typeset()
        await self._text.complete.wait()
        self._page.scroll_to(x=0, y=share * len(self._text.lines), animate=False)
        if self._page.sought is not None:
            self._search(self._page.sought)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        # It comes before all other keys, so that the next ones are typed; then it is typed itself.
        return action != "find" or self.focused is not self._bar.input

    async def action_find(self) -> None:
        """Type words, or others."""
        if not self._bar.is_attached:
            self._bar = FindBar("this text")
            self.add_class("-finding")
            await self.mount(self._bar, after=self._page)
        self._bar.open(self._words)
        self._bar.input.action_select_all()

    async def action_find_next(self, times: int) -> None:
        """Go on with a search that was closed."""
        if self._words:
            await self.action_find()
            self.set_focus(self._bar)

    @on(FindBar.Wanted)
    def _wanted(self, event: FindBar.Wanted) -> None:
        self._words = event.words or self._words
        self._search(Sought.of(event.words))

    @on(FindBar.Left)
    def _left(self) -> None:
        self._mark(None)
        self._bar.remove()
        self.remove_class("-finding")

    @on(FindBar.Stepped)
    def _stepped(self, event: FindBar.Stepped) -> None:
        chosen = self._page.chosen
        if chosen is not None and self._spots:
            self._go(self._spots.index(Spot(*chosen[1])) + event.step)

    @work(group="find", exclusive=True)
    async def _search(self, sought: Sought) -> None:
        """Find all places, and go to the first one that is not above what is read."""
        self._mark(sought if sought.words else None)
        self._spots = []
        self._bar.say("")
        if not sought.words:
            return
        await self._text.complete.wait()
        self._spots = await asyncio.to_thread(spots, self._text.lines, sought)
        if self._spots:
            self._go(bisect_left(self._spots, Spot(int(self._page.scroll_y), 0)))
        else:
            self._bar.say("not found", "$text-warning")

    def _go(self, number: int) -> None:
        wrapped = not 0 <= number < len(self._spots)
        number %= len(self._spots)
        spot = self._spots[number]
        self._page.chosen = (self._text, spot)
        again = "" if not wrapped else f" {self._glyphs.dot} from the {'end' if number else 'start'} again"
        self._bar.say(f"{number + 1:,} of {len(self._spots):,}{again}")
        height = self._page.size.height
        if not 0 <= spot.row - self._page.scroll_y < height:
            self._page.scroll_to(y=spot.row - height // 3, animate=False, immediate=True)
        left, width = self._page.scroll_x, self._page.size.width
        if not left <= spot.column < left + width:
            self._page.scroll_to(x=spot.column - width // 2, animate=False, immediate=True)
        self._text.refresh()

    def _mark(self, sought: Sought | None) -> None:
        self._page.sought, self._page.chosen = sought, None
        self._text.refresh()

    def action_rows(self, rows: int) -> None:
        self._page.scroll_relative(y=rows, animate=False, immediate=True)

    def action_pages(self, pages: float) -> None:
        self.action_rows(int(pages * max(self._page.size.height - 1, 1)))

    def action_edge(self, which: int) -> None:
        self._page.scroll_to(y=which * self._page.max_scroll_y, animate=False, immediate=True)

    def action_aside(self, steps: int) -> None:
        self._page.scroll_relative(x=steps * SIDE_STEP, animate=False, immediate=True)
