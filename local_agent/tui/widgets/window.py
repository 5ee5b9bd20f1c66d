"""The part of a conversation that is mounted: its items, and what of it was dropped at either edge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from weakref import WeakSet

from textual.widget import Widget

CUT_ENTRIES = 40
"""How many entries are put back at once of those that a window in the middle has below it."""
ROWS_OF_A_WIDGET = 12
"""A longer widget counts as several: what it holds in memory grows with its rows."""


@dataclass(slots=True)
class Item:
    """What one entry looks like. ``entry_id`` is 0 while the entry is not stored yet."""

    entry_id: int
    widgets: list[Widget] = field(default_factory=list)

    @property
    def weight(self) -> float:
        """What it costs to keep it mounted, in widgets."""
        return sum(1 + widget.size.height / ROWS_OF_A_WIDGET for widget in self.widgets)

    @property
    def top(self) -> float:
        """The row of the whole transcript that it begins on; below all while it has no widget."""
        return self.widgets[0].virtual_region.y if self.widgets else inf

    @property
    def bottom(self) -> float:
        """The row behind it; above all while it has no widget."""
        return self.widgets[-1].virtual_region.bottom if self.widgets else -inf


@dataclass(frozen=True, slots=True)
class Cut:
    """Newer entries that were dropped: ``count`` of them, right before entry ``before`` (0: the end)."""

    before: int
    count: int


class Window:
    """Knows what is mounted, oldest first; what it gives back is no longer, and can be unmounted."""

    def __init__(self, items: Iterable[Item] = (), *, more_above: bool = False) -> None:
        self.items = list(items)
        self.more_above = more_above
        self.cuts: list[Cut] = []
        self.said: WeakSet[Widget] = WeakSet()
        """Lines of the program that belong to no entry."""
        self._edge = 0
        """The first entry that was dropped below, 0 while the end is mounted."""

    @classmethod
    def amid(cls, items: Iterable[Item], *, more_above: bool, below: Sequence[int]) -> Window:
        """A window that entries ``below``, oldest first, come after."""
        window = cls(items, more_above=more_above)
        for end in range(len(below), 0, -CUT_ENTRIES):
            before = below[end] if end < len(below) else 0
            window.cuts.append(Cut(before, end - max(0, end - CUT_ENTRIES)))
        window._edge = below[0] if below else 0
        return window

    @property
    def weight(self) -> float:
        """What all items cost together, in widgets."""
        return sum(item.weight for item in self.items)

    def forget_cuts(self) -> None:
        """The end is mounted from here on, whatever can't be read again."""
        self.cuts.clear()
        self._edge = 0

    def name_last(self, entry_id: int) -> None:
        """The last item's entry is stored now."""
        if self.items:
            self.items[-1].entry_id = entry_id

    def rename(self, ids: Mapping[int, int]) -> None:
        """Entries have got other ids."""
        for item in self.items:
            item.entry_id = ids.get(item.entry_id, item.entry_id)
        self.cuts = [Cut(ids.get(cut.before, cut.before), cut.count) for cut in self.cuts]
        self._edge = ids.get(self._edge, self._edge)

    def split_last(self, entry_id: int, after: Widget | None) -> None:
        """What the last item holds behind ``after`` becomes the item of a new entry."""
        last = self.items[-1]
        cut = last.widgets.index(after) + 1 if after in last.widgets else len(last.widgets)
        self.items.append(Item(entry_id, last.widgets[cut:]))
        del last.widgets[cut:]

    def cut_branch(self, entry_id: int) -> list[Widget]:
        """Take off an entry and all below it, but for what was said there: that goes with what is above."""
        place = next((i for i, item in enumerate(self.items) if item.entry_id >= entry_id), len(self.items))
        dropped = widgets_of(self.items[place:])
        del self.items[place:]
        said = [widget for widget in dropped if widget in self.said]
        if said:
            if not self.items:
                self.items.append(Item(0))
            self.items[-1].widgets.extend(said)
        return [widget for widget in dropped if widget not in self.said]

    def cut_above(self, keep: int, row: float = inf) -> list[Item]:
        """Take off the oldest items that end above a row until the rest weighs ``keep``."""
        weight = self.weight
        dropped: list[Item] = []
        while len(self.items) > 1 and (
            (weight > keep and self.items[0].bottom < row)
            # The first entry is what older ones are asked for by: it must be a stored one.
            or (dropped and not self.items[0].entry_id)
        ):
            dropped.append(self.items.pop(0))
            weight -= dropped[-1].weight
        self.more_above = self.more_above or bool(dropped)
        return dropped

    def cut_below(self, keep: int, row: float) -> list[Item]:
        """Take off the newest items that begin below a row until the rest weighs ``keep``."""
        weight = self.weight
        dropped: list[Item] = []
        while weight > keep and self.items[-1].top > row:
            dropped.append(self.items.pop())
            weight -= dropped[-1].weight
        # What was never stored can't be read again.
        stored = [item.entry_id for item in dropped if item.entry_id]
        if stored:
            self.cuts.append(Cut(self._edge, len(stored)))
            self._edge = stored[-1]
        return dropped

    def restore(self, cut: Cut, items: Iterable[Item]) -> bool:
        """Put back what was taken off below last; False when that was not ``cut``."""
        if not self.cuts or self.cuts[-1] != cut:
            return False
        self._edge = self.cuts.pop().before
        self.items.extend(items)
        return True


def widgets_of(items: Iterable[Item]) -> list[Widget]:
    """All widgets, in the order of the screen."""
    return [widget for item in items for widget in item.widgets]
