"""The list above the composer of what the word at the cursor may become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rich.cells import cell_len
from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from local_agent.tui.look.glyphs import UNICODE, Glyphs

SIDES = 5
"""Cells that padding and scroll bar take."""


class Offer(NamedTuple):
    """One row."""

    text: str
    """What takes the place of the word."""
    label: str
    detail: str = ""
    sends: bool = False
    """Enter carries it out at once."""
    is_path: bool = False
    """The end of a label that is too long says more than its beginning."""


class CompletionList(OptionList, can_focus=False):
    """Never has the focus: the composer sends it its keys."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        height: auto;
        max-height: 8;
        padding: 0 2;
        border: none;
        background: transparent;
        scrollbar-size-vertical: 1;
        & > .option-list--option { padding: 0; }
        & > .option-list--option-disabled { color: $text-muted; }
        & > .option-list--option-highlighted { text-style: none; background: $panel; }
    }
    CompletionList.-open { display: block; }
    """

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(markup=False)
        self.offers: Sequence[Offer] = ()
        self._glyphs = glyphs
        self._note = ""

    def show(self, offers: Sequence[Offer], note: str = "") -> None:
        """Offer these, with a last line that can't be chosen; nothing at all closes the list."""
        self.set_class(bool(offers or note), "-open")
        if list(offers) == list(self.offers) and note == self._note:
            return
        chosen = self.chosen
        self.offers, self._note = offers, note
        room = max(8, self.app.size.width - SIDES)
        column = min(max((cell_len(each.label) for each in offers if each.detail), default=0), room)
        self.clear_options()
        self.add_options(Option(self._drawn(offer, column, room)) for offer in offers)
        if note:
            self.add_option(Option(Content(note).truncate(room, ellipsis=True), disabled=True))
        kept = next((row for row, offer in enumerate(offers) if offer == chosen), 0)
        self.highlighted = (kept if self.moved else 0) if offers else None

    moved = False
    """True once the person chose a row other than the first for the word that is typed."""

    def move(self, step: int) -> None:
        """Choose another row, around the ends."""
        if self.offers:
            self.moved = True
            self.highlighted = ((self.highlighted or 0) + step) % len(self.offers)

    @property
    def chosen(self) -> Offer | None:
        """The row under the pointer."""
        place = self.highlighted
        return self.offers[place] if place is not None and place < len(self.offers) else None

    def _drawn(self, offer: Offer, column: int, room: int) -> Content:
        label = offer.label
        if offer.is_path:
            folder, slash, name = _cut_left(label, room, self._glyphs.ellipsis).rpartition("/")
            if not name:  # a folder
                folder, slash, name = folder.rpartition("/")
                name += "/"
            return Content.assemble((folder + slash, "$text-muted"), (name, "$text"))
        label += " " * (column - cell_len(label))
        line = Content.assemble((label, "$text"), "  " if offer.detail else "", (offer.detail, "$text-muted"))
        return line.truncate(room, ellipsis=True)


def _cut_left(text: str, room: int, ellipsis: str) -> str:
    if cell_len(text) <= room:
        return text
    while text and cell_len(text) + len(ellipsis) > room:
        text = text[1:]
    return ellipsis + text
