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
    """Reads that went well, one after another: one line, opened one for each."""

    def __init__(self, calls: Sequence[Call], glyphs: Glyphs = UNICODE) -> None:
        super().__init__(glyphs)
        self._calls = tuple(calls)
        self._unfolded: frozenset[int] = frozenset()

    @property
    def calls(self) -> Sequence[Call]:
        return self._calls

    def typeset(self, width: int) -> Sequence[Line]:
        return [line for line, _ in self._rows(width)]

    def _rows(self, width: int) -> list[tuple[Line, int | None]]:
        """Each row, and the number of the call that it belongs to."""
        rows: list[tuple[Line, int | None]] = [
            (reads_line(self._calls, width, self.glyphs, opened=self.opened), None)
        ]
        for number, call in enumerate(self._calls if self.opened else ()):
            unfolded = number in self._unfolded
            rows.append((call_line(call, width, self.glyphs, opened=unfolded), number))
            rows += [(line, number) for line in (details(call, width, self.glyphs) if unfolded else ())]
        return rows

    def click_row(self, row: int) -> None:
        rows = self._rows(self.size.width)
        number = rows[row][1] if 0 <= row < len(rows) else None
        if number is None:
            super().click_row(row)
        else:
            self._unfolded ^= {number}
            self._cached = (None, ())
            self.refresh(layout=True)


def grouped(calls: Sequence[Call], glyphs: Glyphs, *, opened: bool = False) -> list[Card]:
    """The cards of one reply's calls: reads that follow each other are one."""
    cards: list[Card] = []
    for folds, group in groupby(calls, key=lambda call: call.folds):
        same = list(group)
        if folds and len(same) > 1:
            cards.append(ReadsRun(same, glyphs))
        else:
            cards += [ToolCard(call, glyphs, opened=opened) for call in same]
    return cards
