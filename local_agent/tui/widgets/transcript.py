"""The transcript: a window on the conversation that follows its end until the person scrolls up."""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Coroutine, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from textual import on, work
from textual.containers import VerticalScroll
from textual.widget import Widget

from local_agent.tui.widgets.lines_view import LinesView, Marking
from local_agent.tui.widgets.window import Cut, Item, Window, widgets_of

if TYPE_CHECKING:
    from textual.message_pump import Callback

MOUNTED_AT_MOST = 240
"""Widgets above which those far from what is read are dropped: a collection goes through all of them."""
KEPT_AROUND = 140
FAR_SCREENS = 2
"""How many heights of the view what is dropped must be away from it."""
NEAR_ROWS = 12
"""How close to an edge of the window more of the conversation is asked for."""


class Pager(Protocol):
    """Reads what is not mounted."""

    def older(self, before: int) -> Coroutine[None, None, bool]:
        """Call ``prepend`` with what comes before an entry, and give what that gives."""

    def newer(self, cut: Cut) -> Coroutine[None, None, bool]:
        """Call ``extend`` with what was dropped, and give what that gives."""

    def up_to(self, entry_id: int) -> Coroutine[None, None, None]:
        """Call ``show`` with what comes before an entry."""

    def to_end(self) -> Coroutine[None, None, None]:
        """Call ``show`` with the end, and follow it."""


class Transcript(VerticalScroll, Marking, can_focus=False):
    """Holds items, oldest first; ``pager`` brings what lies beyond the edges of the window."""

    DEFAULT_CSS = """
    Transcript {
        height: 1fr;
        padding: 0 0 1 2;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        & > .-left-out { text-opacity: 75%; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.pager: Pager | None = None
        self.window = Window()
        self.live = False
        """True while a turn writes at the end: then the end stays mounted."""
        self._asked = False
        self._sliding = asyncio.Lock()
        """Held while the window moves: what is read for one place must not be put at another."""
        self._anchor_wanted = True
        self._catching_up = False
        self._drawn_at = 0.0
        """Where the view was when rows out of sight were forgotten last."""
        self._width = 0
        """Of the rows there are; they are set anew when it is another one."""
        self._read: tuple[Widget, float] | None = None
        """What is at the upper edge of the view, and which share of it is above."""

    @property
    def at_end(self) -> bool:
        """True while the end of the conversation is in view."""
        return self.end_mounted and self.scroll_y >= self.max_scroll_y

    @property
    def end_mounted(self) -> bool:
        """False when the newest entries were dropped while the person read far above them."""
        return not self.window.cuts

    @property
    def content_width(self) -> int:
        """Cells of a row inside the padding; 0 before the first layout."""
        return max(0, self.scrollable_content_region.width)

    async def show(self, items: Sequence[Item], *, more_above: bool) -> None:
        """Replace everything and go to the end."""
        async with self._sliding:
            await self._replace(Window(items, more_above=more_above))
        self.follow()

    async def show_amid(self, window: Window) -> None:
        """Replace everything by a part of the conversation, unless a turn writes at its end by now."""
        async with self._sliding:
            if not self.live:
                await self._replace(window)
                await self.laid_out()

    async def _replace(self, window: Window) -> None:
        self.window = Window()
        self._let_go()
        self.scroll_y = self.scroll_target_y = 0
        with self.app.batch_update():
            await self.remove_children()
            self.window = window
            await self.mount_all(widgets_of(window.items))

    def reveal(self, widget: Widget, row: int = 0, *, above: float = 1 / 3) -> None:
        """Scroll so that a row of a widget has a share of the view ``above`` it; what is new waits below."""
        self._anchor_wanted = False
        y = widget.virtual_region.y + row - int(self.size.height * above)
        self.scroll_to(y=y, animate=False, immediate=True)

    def shows(self, widget: Widget, row: int) -> bool:
        """True while that row is in view."""
        return 0 <= widget.virtual_region.y + row - self.scroll_y < self.size.height

    def rows_in_view(self, widget: Widget) -> int:
        """How many rows of a widget are in view."""
        region = widget.virtual_region
        top = max(region.y, int(self.scroll_y))
        return max(0, min(region.bottom, int(self.scroll_y) + self.size.height) - top)

    async def mount_end(self) -> None:
        """Go to the end if it was dropped, so that what is new can stand behind it."""
        if self.window.cuts and self.pager is not None:
            await self.pager.to_end()
            # Whatever can't be read again is missing then, but nothing of it may come behind what is new.
            self.window.forget_cuts()

    async def add(self, widget: Widget, entry_id: int | None = None) -> None:
        """Put one widget at the end: of a new item when ``entry_id`` is given, else of the last one."""
        await self.mount_end()
        if entry_id is not None or not self.window.items:
            self.window.items.append(Item(entry_id or 0))
        self.window.items[-1].widgets.append(widget)
        await self.mount(widget)
        self._anchor_when_full()
        if self.at_end and not self.live:
            await self.drop_above()

    async def say(self, widget: Widget) -> None:
        """Put one widget at the end that no entry has: it stays when entries are drawn again."""
        self.window.said.add(widget)
        await self.add(widget)

    async def prepend(self, items: Sequence[Item], *, before: int, more_above: bool) -> bool:
        """Put older items above entry ``before``; what the person reads stays where it is.

        False when that entry isn't the first one any more.
        """
        async with self._sliding:
            if not self.window.items or self.window.items[0].entry_id != before:
                return False
            self.window.more_above = more_above
            height, row = self.virtual_size.height, self.scroll_y
            self.window.items[:0] = items
            await self.mount_all(widgets_of(items), before=0)
            await self.laid_out()
            grown = max(0, self.virtual_size.height - height)
            self.scroll_to(y=row + grown, animate=False, immediate=True)
            await self._drop_below()
        return True

    async def append(self, items: Sequence[Item]) -> None:
        """Put newer items below, whatever is in view."""
        self.window.items.extend(items)
        await self.mount_all(widgets_of(items))
        self._anchor_when_full()

    async def drop_from(self, entry_id: int) -> None:
        """Take the item of an entry and all below it away: they are on another branch, or drawn again."""
        await self.remove_children(self.window.cut_branch(entry_id))

    async def extend(self, items: Sequence[Item], *, cut: Cut) -> bool:
        """Put back the newer items that were dropped last; False when those of ``cut`` are not."""
        async with self._sliding:
            if not self.window.restore(cut, items):
                return False
            await self.mount_all(widgets_of(items))
            await self.laid_out()
            await self._drop_far_above()
        return True

    def follow(self) -> None:
        """Go to the end and stay there until the person scrolls up."""
        self._anchor_wanted = True
        self.call_after_refresh(self._anchor_when_full)

    async def drop_above(self) -> None:
        """Drop the oldest items when too many are mounted while the end is in view."""
        if self.window.weight > MOUNTED_AT_MOST:
            await self.remove_children(widgets_of(self.window.cut_above(KEPT_AROUND)))

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if abs(new_value - self._drawn_at) > self.size.height:
            self._drawn_at = new_value
            self._forget_far_rows()
        if self._width == self.size.width:
            self._read = None if self.at_end else self._at_upper_edge()
        if new_value < old_value:
            self._look_above()
        else:
            self._look_below()
            if self.end_mounted and self.window.items and new_value >= self.max_scroll_y:
                self.follow()

    def _forget_far_rows(self) -> None:
        """What was drawn of views that are out of sight by a screenful costs more memory than their text."""
        top, height = self.scroll_y, self.size.height
        for view in self.children:
            if isinstance(view, LinesView) and view.drawn:
                region = view.virtual_region
                if region.bottom < top - height or region.y > top + 2 * height:
                    view.forget_drawn()

    def _at_upper_edge(self) -> tuple[Widget, float] | None:
        below = bisect_right(self.children, self.scroll_y, key=lambda view: view.virtual_region.y)
        if not below:
            return None
        view = self.children[below - 1]
        return view, (self.scroll_y - view.virtual_region.y) / max(view.virtual_region.height, 1)

    def release_anchor(self) -> None:
        super().release_anchor()
        if self._width != self.size.width:
            # Whoever scrolls while rows are set for a new width is not taken back.
            self._read = None
        # Whoever scrolls at the upper edge moves nothing, but wants what is above it.
        self._look_above()

    def _look_above(self) -> None:
        if (
            self.window.items
            and self.window.more_above
            and self.scroll_y < NEAR_ROWS
            and self.pager is not None
        ):
            self._page(self.pager.older(self.window.items[0].entry_id))

    def _look_below(self) -> None:
        if self.window.cuts and self.scroll_y > self.max_scroll_y - NEAR_ROWS and self.pager is not None:
            self._page(self.pager.newer(self.window.cuts[-1]))

    def _page(self, paging: Coroutine[None, None, bool]) -> None:
        if self._asked:
            paging.close()
        else:
            self._asked = True
            self.run_worker(self._bring(paging), group="paging")

    async def _bring(self, paging: Coroutine[None, None, bool]) -> None:
        try:
            came = await paging
        finally:
            self._asked = False
        if came:
            self._look_above()
            self._look_below()

    def watch_virtual_size(self) -> None:
        self._anchor_when_full()

    def on_resize(self) -> None:
        self._anchor_when_full()
        if self.size.width != self._width:
            self._catch_up()

    def _anchor_when_full(self) -> None:
        # An anchored container sets content shorter than itself at its bottom: anchor only what overflows.
        if not self.container_size.height:
            return
        if self.max_scroll_y <= 0 and self.is_anchored:
            self._let_go()
            self._anchor_wanted = True
            self.scroll_y = self.scroll_target_y = 0
        elif self.max_scroll_y > 0 and self._anchor_wanted:
            self._anchor_wanted = False
            self.anchor()

    def _let_go(self) -> None:
        self._anchor_wanted = False
        self.anchor(False)

    async def _drop_below(self) -> None:
        """Drop the newest items when the person has gone far above them; nothing while a turn writes."""
        if self.live or self.window.weight <= MOUNTED_AT_MOST:
            return
        dropped = self.window.cut_below(KEPT_AROUND, self.scroll_y + (1 + FAR_SCREENS) * self.size.height)
        if not self.end_mounted:
            self._let_go()
        await self.remove_children(widgets_of(dropped))

    async def _drop_far_above(self) -> None:
        """Drop the oldest items when the person has gone far below them; what is read stays where it is."""
        if self.window.weight <= MOUNTED_AT_MOST:
            return
        top = self.children[0].virtual_region.y
        dropped = self.window.cut_above(KEPT_AROUND, self.scroll_y - FAR_SCREENS * self.size.height)
        kept = next(iter(widgets_of(self.window.items)), None)
        if dropped and kept is not None:
            with self.app.batch_update():
                gone = kept.virtual_region.y - top
                self.scroll_to(y=self.scroll_y - gone, animate=False, immediate=True)
                await self.remove_children(widgets_of(dropped))

    @on(LinesView.Outdated)
    @work(group="width")
    async def _catch_up(self) -> None:
        """Set what still has the rows of another width, one after another, what is in view first."""
        if self._catching_up:
            return
        self._catching_up = True
        read = self._read
        try:
            await self.laid_out()
            while stale := [view for view in self.query(LinesView) if view.stale]:
                middle = self.scroll_y + self.size.height / 2
                await min(stale, key=lambda view: abs(view.virtual_region.center[1] - middle)).catch_up()
                await asyncio.sleep(0)
            await self.laid_out()
            self._width = self.size.width
            if read is not None and read is self._read and read[0].is_attached:
                view, share = read
                self._let_go()  # a wider window may have had its end where one read
                self.reveal(view, round(share * view.virtual_region.height), above=0)
        finally:
            self._catching_up = False

    def call_after_refresh(self, callback: Callback, *args: Any, **kwargs: Any) -> bool:
        """Textual asks the screen on top, which forgets it when it closes just then; this asks its own."""
        return self.call_later(self.screen._invoke_later, partial(callback, *args, **kwargs), self)

    async def laid_out(self) -> None:
        """Wait until what was mounted has its place."""
        laid_out = asyncio.Event()
        self.call_after_refresh(laid_out.set)
        await laid_out.wait()
