"""Calls in the transcript: a line each, one for reads that follow each other; they open on a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.reactive import reactive

from local_agent.domain.ledger import Execution
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line
from local_agent.tui.tools.calls import Call, call_line, details, progress_rows, reads_line
from local_agent.tui.widgets.lines_view import LinesView

PROGRESS_KEPT = 4_000
"""Characters of what a running command writes: its last rows are drawn."""


class Card(LinesView, can_focus=True):
    """One call or several; neighbours stand close, with a blank row around them all."""

    DEFAULT_CSS = """
    Card {
        margin: 0 1 0 2;
        &.-first { margin: 1 1 0 2; }
        &.-last { margin: 0 1 1 2; }
        &.-first.-last { margin: 1 1 1 2; }
        &:focus { background: $surface; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle('opened')", "Unfold", id="card.toggle", show=False),
        Binding("v", "view", "Read all of it", id="card.view", show=False),
    ]
    FOCUS_ON_CLICK = False

    @dataclass
    class Opened(Message):
        """All of these calls is to be read on the whole screen."""

        calls: Sequence[Call]

    opened: reactive[bool] = reactive(False, layout=True)

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.glyphs = glyphs
        self._cached: tuple[object, Sequence[Line]] = (None, ())

    @property
    def calls(self) -> Sequence[Call]:
        """What it shows."""
        raise NotImplementedError

    def typeset(self, width: int) -> Sequence[Line]:
        """The rows for ``width`` cells."""
        raise NotImplementedError

    def lines_for(self, width: int) -> Sequence[Line]:
        key = (width, self.opened, self.calls)
        if self._cached[0] != key:
            self._cached = (key, self.typeset(width))
        return self._cached[1]

    def on_mount(self) -> None:
        self.space()
        above = self._neighbour(-1)
        if isinstance(above, Card):
            above.space()

    def space(self) -> None:
        """Leave a blank row where no other card stands beside it."""
        self.set_class(not isinstance(self._neighbour(-1), Card), "-first")
        self.set_class(not isinstance(self._neighbour(1), Card), "-last")

    def _neighbour(self, step: int) -> object:
        siblings = self.parent.children if self.parent is not None else ()
        place = next((at for at, each in enumerate(siblings) if each is self), 0) + step
        return siblings[place] if 0 <= place < len(siblings) else None

    def on_click(self, event: events.Click) -> None:
        self.click_row(event.y)

    def click_row(self, row: int) -> None:
        """A row of it was clicked."""
        self.opened = not self.opened

    def action_view(self) -> None:
        self.post_message(self.Opened(self.calls))


class ToolCard(Card):
    """One call, from the moment it is asked for; an opened one shows its output."""

    def __init__(self, call: Call, glyphs: Glyphs = UNICODE, *, opened: bool = False) -> None:
        super().__init__(glyphs)
        self.call = call
        self.set_reactive(Card.opened, opened)

    @property
    def calls(self) -> Sequence[Call]:
        return (self.call,)

    def show(self, execution: Execution, text: str = "") -> None:
        """It has come further; ``text`` is its result once it has one."""
        self.call = Call(execution, text, "" if execution.ended else self.call.progress)
        self.refresh(layout=True)

    def write(self, text: str) -> None:
        """It writes while it runs."""
        self.call = replace(self.call, progress=(self.call.progress + text)[-PROGRESS_KEPT:])
        self.refresh(layout=True)

    def typeset(self, width: int) -> Sequence[Line]:
        call = self.call
        line = call_line(call, width, self.glyphs, opened=self.opened)
        if not call.execution.ended and call.progress:
            return [line, *progress_rows(call, width, self.glyphs)]
        return [line, *details(call, width, self.glyphs)] if self.opened else [line]


class ReadsRun(Card):
    """Reads of one reply that went well. Runs that stand right below each other are one line, the first's.

    Alone it is drawn as the call that it is; opened, it has a row for each call.
    """

    def __init__(self, calls: Sequence[Call], glyphs: Glyphs = UNICODE) -> None:
        super().__init__(glyphs)
        self.own = tuple(calls)
        self._first: ReadsRun | None = None
        """The run whose line these calls are counted in; None when it is this one."""
        self._others: tuple[ReadsRun, ...] = ()
        """The runs that are counted in this one's line."""
        self._unfolded: frozenset[int] = frozenset()
        self._leaving = False
        """True once it is taken away: its parent still has it for a moment."""

    @property
    def calls(self) -> Sequence[Call]:
        return tuple(call for run in (self, *self._others) for call in run.own)

    def on_mount(self) -> None:
        self.join()

    def on_unmount(self) -> None:
        self._leaving = True
        left = self._others if self._first is None else (self._first,)
        if (other := next((each for each in left if not each._leaving), None)) is not None:
            other.join()

    def join(self) -> None:
        """Be one line with the runs right above and below."""
        first, *others = self._chain()
        first._stand(None, others)
        for other in others:
            other._stand(first, ())

    def watch_opened(self) -> None:
        for other in self._others:
            other._redraw()

    def click_row(self, row: int) -> None:
        rows = self._rows(self.size.width)
        number = rows[row][1] if 0 <= row < len(rows) else None
        if number is None or (number == 0 and self._alone):
            super().click_row(row)
        else:
            self._unfolded ^= {number}
            self._redraw()

    def typeset(self, width: int) -> Sequence[Line]:
        return [line for line, _ in self._rows(width)]

    @property
    def _alone(self) -> bool:
        return self._first is None and len(self.calls) == 1

    def _chain(self) -> list[ReadsRun]:
        siblings = list(self.parent.children) if self.parent is not None else []
        chain: list[ReadsRun] = []
        for each in siblings:
            if isinstance(each, ReadsRun):
                chain += [] if each._leaving else [each]
            elif self in chain:
                break
            else:
                chain = []
        return chain if self in chain else [self]

    def _stand(self, first: ReadsRun | None, others: Sequence[ReadsRun]) -> None:
        if (first, tuple(others)) != (self._first, self._others):
            self._first, self._others = first, tuple(others)
            self.can_focus = first is None
            self._redraw()

    def _redraw(self) -> None:
        self._cached = (None, ())
        self.refresh(layout=True)

    def _rows(self, width: int) -> list[tuple[Line, int | None]]:
        """Each row, and the number of the call that it belongs to."""
        if self._alone:
            line = call_line(self.own[0], width, self.glyphs, opened=self.opened)
            below = details(self.own[0], width, self.glyphs) if self.opened else ()
            return [(each, 0) for each in (line, *below)]
        heading = reads_line(self.calls, width, self.glyphs, opened=self.opened)
        rows: list[tuple[Line, int | None]] = [(heading, None)] if self._first is None else []
        for number, call in enumerate(self.own if (self._first or self).opened else ()):
            unfolded = number in self._unfolded
            rows.append((call_line(call, width, self.glyphs, opened=unfolded), number))
            rows += [(line, number) for line in (details(call, width, self.glyphs) if unfolded else ())]
        return rows


def grouped(calls: Sequence[Call], glyphs: Glyphs, *, opened: bool = False) -> list[Card]:
    """The cards of one reply's calls: reads that follow each other are one."""
    cards: list[Card] = []
    for folds, group in groupby(calls, key=lambda call: call.folds):
        if folds:
            cards.append(ReadsRun(list(group), glyphs))
        else:
            cards += [ToolCard(call, glyphs, opened=opened) for call in group]
    return cards
