"""Find in the transcript: looks through the whole session and goes from one place to the next."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from math import inf
from typing import ClassVar, NamedTuple

from textual import on, work
from textual.binding import Binding, BindingType
from textual.widget import Widget

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.finding import Found, Sought
from local_agent.tui.conversation.history import History
from local_agent.tui.conversation.marks import Spot, nearest, spots
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.find_bar import FindBar
from local_agent.tui.widgets.lines_view import LinesView
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.thinking import Thinking
from local_agent.tui.widgets.window import Item

TYPING_SECONDS = 0.06
"""How long the next letter may take before the search begins."""
MANY_LINES = 1_000
"""Lines that are looked through on a thread."""


class Place(NamedTuple):
    """One occurrence: in which of the texts that were found, and which in it, counted from its end."""

    text: int
    number: int


class Find(FindBar):
    """Shows the newest occurrence above the lower edge of the view; older ones are next."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("alt+t", "thinking", "Look into thinking, too", id="find.thinking")
    ]

    def __init__(self, history: History, glyphs: Glyphs = UNICODE) -> None:
        super().__init__("this conversation", upwards=True)
        self.history = history
        self.glyphs = glyphs
        self.thinking = False
        self._found: list[Found] = []
        self._complete = False
        self._at: Place | None = None
        self._looked_through: object = None

    @property
    def sought(self) -> Sought:
        """What is looked for."""
        return Sought.of(self.input.value, thinking=self.thinking)

    def close(self) -> None:
        """Give the keys back to the composer, at the place that was found."""
        self._mark(None)
        self.screen.query_one(Composer).focus()
        self.remove()

    @on(FindBar.Wanted)
    def _wanted(self, event: FindBar.Wanted) -> None:
        event.stop()
        self._search()

    @on(FindBar.Stepped)
    async def _stepped(self, event: FindBar.Stepped) -> None:
        event.stop()
        if self._looked_through != self._now():
            # There is more to find by now, or another conversation.
            self._search()
            return
        if self._at is None:
            return
        place, wrapped = self._beyond(self._at, -event.step)
        if not wrapped:
            await self._go(place)
        elif self._complete:
            await self._go(place)
            self._count(f"{self.glyphs.dot} from the {'newest' if event.step < 0 else 'oldest'} again")

    @on(FindBar.Left)
    def _left(self, event: FindBar.Left) -> None:
        event.stop()
        self.close()

    def action_thinking(self) -> None:
        self.thinking = not self.thinking
        self.notify("Thinking is looked into, too." if self.thinking else "Thinking is left out.")
        self._search()

    @work(group="find", exclusive=True)
    async def _search(self) -> None:
        sought = self.sought
        self._found, self._at, self._complete = [], None, False
        self._mark(sought if sought.words else None)
        self.say("")
        conversation = self.history.conversation
        self._looked_through = self._now()
        if conversation is None or not sought.words:
            return
        await asyncio.sleep(TYPING_SECONDS)
        lowest = self._lowest_in_view()
        try:
            async with aclosing(conversation.search.find(sought)) as parts:
                async for part in parts:
                    self._found += part.found
                    above = (i for i, found in enumerate(self._found) if found.entry_id <= lowest)
                    if self._at is None and (first := next(above, None)) is not None:
                        await self._go(Place(first, 0))
                    self._count()
        except LocalAgentError as error:
            self.say(error.line, "$text-error")
            return
        self._complete = True
        if self._at is None and self._found:
            await self._go(Place(0, 0))
        self._count()

    async def _go(self, place: Place) -> None:
        sought, found = self.sought, self._found[place.text]
        item = await self.history.show_entry(found.entry_id)
        if item is None:
            self.say("too far above while an answer is written", "$text-warning")
            return
        self._at = place
        transcript = self.history.transcript
        seen: list[tuple[Widget, Spot]] = []
        for part in _views(item, found.thinking):
            seen += [(part, spot) for spot in await self._unfolded(part, sought, found)]
        number = found.times - 1 - place.number
        # What is found in the marks of Markdown alone is not drawn: then its text is shown.
        view, spot = nearest(seen, number, found.times) or (item.widgets[0], Spot(0, 0))
        self._choose(view, spot)
        if not transcript.shows(view, spot.row):
            transcript.reveal(view, spot.row)
        self._count()

    async def _unfolded(self, view: LinesView, sought: Sought, found: Found) -> list[Spot]:
        """Where the words stand in a view; it is unfolded when they stand in what is folded."""
        places = await _spots(view, sought)
        if len(places) < found.times and isinstance(view, Question | Thinking) and not view.opened:
            view.opened = view.can_focus
            await self.history.transcript.laid_out()
            places = await _spots(view, sought)
        return places

    def _beyond(self, place: Place, step: int) -> tuple[Place, bool]:
        """The occurrence after (1: above) or before one, and whether the search begins again for it."""
        text, number = place.text, place.number + step
        if 0 <= number < self._found[text].times:
            return Place(text, number), False
        text += step
        wrapped = not 0 <= text < len(self._found)
        text %= len(self._found)
        return Place(text, 0 if step > 0 else self._found[text].times - 1), wrapped

    def _count(self, note: str = "") -> None:
        total = sum(found.times for found in self._found)
        more = "" if self._complete else "+"
        if self._at is not None:
            before = sum(found.times for found in self._found[: self._at.text])
            self.say(f"{before + self._at.number + 1:,} of {total:,}{more} {note}".rstrip())
        elif self._complete:
            self.say("not found" if not total else f"{total:,}", "$text-warning")
        else:
            self.say(f"{total:,}{more}" if total else self.glyphs.ellipsis)

    def _now(self) -> object:
        conversation = self.history.conversation
        return conversation, conversation.search.newest if conversation is not None else None

    def _lowest_in_view(self) -> float:
        """The entry at the lower edge of the view; above all when that is the end."""
        transcript = self.history.transcript
        bottom = transcript.scroll_y + transcript.size.height
        if transcript.at_end:
            return inf
        return max((item.entry_id for item in transcript.window.items if item.top < bottom), default=inf)

    def _mark(self, sought: Sought | None) -> None:
        transcript = self.history.transcript
        transcript.sought, transcript.chosen = sought, None
        for view in transcript.query(LinesView):
            view.refresh()

    def _choose(self, view: Widget, spot: Spot) -> None:
        transcript = self.history.transcript
        if transcript.chosen is not None:
            transcript.chosen[0].refresh()
        transcript.chosen = (view, spot)
        view.refresh()


def _views(item: Item, thinking: bool) -> list[LinesView]:
    """What draws the text of an entry, or what the model thought before it."""
    kinds = (Thinking,) if thinking else (Question, Reply)
    return [widget for widget in item.widgets if isinstance(widget, kinds)]


async def _spots(view: LinesView, sought: Sought) -> list[Spot]:
    lines = view.lines_for(view.size.width)
    if len(lines) > MANY_LINES:
        return await asyncio.to_thread(spots, lines, sought)
    return spots(lines, sought)
