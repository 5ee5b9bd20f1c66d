"""What the person asked: behind an accent bar, with its time, its pictures and what it mentions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.message import Message
from textual.reactive import reactive

from local_agent.domain.attached import Attached, read_back
from local_agent.domain.marks import Mark
from local_agent.domain.notes import told_in
from local_agent.domain.pictures import Picture
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line, decoration, indented, with_tabs, wrap
from local_agent.tui.look.quantities import clock, counted, size
from local_agent.tui.widgets.lines_view import LinesView
from local_agent.tui.widgets.message_keys import MARK_HINTS, message_keys

if TYPE_CHECKING:
    from local_agent.domain.entries import Entry

FOLDED_ROWS = 20
OPENED_CHARACTERS = 40_000
"""A longer question is stored and sent whole, but its rest is not drawn."""
ASIDE_ROOM = 8


class Question(LinesView, can_focus=True):
    """One question. ``failed`` marks one that was never answered, ``wanted`` what its exchange is to be."""

    DEFAULT_CSS = """
    Question { margin: 1 1 1 0; }
    Question:focus { background: $surface; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,space", "toggle('opened')", "Unfold", id="question.toggle", show=False),
        Binding("p", "pictures", "Look at the pictures", id="question.pictures", show=False),
        Binding("e", "screen.message('edit')", "Edit and ask again", id="question.edit", show=False),
        *message_keys("question"),
    ]
    FOCUS_ON_CLICK = False
    hints = (("f", "fork"), ("e", "edit"), *MARK_HINTS)

    @dataclass
    class PicturesWanted(Message):
        """The pictures are to be looked at, number ``first`` to begin with."""

        pictures: Sequence[Picture]
        first: int = 0

    failed: reactive[bool] = reactive(False)
    wanted: reactive[Mark | None] = reactive(None, layout=True)
    opened: reactive[bool] = reactive(False, layout=True)

    def __init__(
        self,
        text: str,
        asked_at: str = "",
        glyphs: Glyphs = UNICODE,
        *,
        context: str = "",
        pictures: Sequence[Picture] = (),
    ) -> None:
        super().__init__()
        self.source = text
        self.pictures = pictures
        self.mentioned = read_back(context)
        self.noted = told_in(context)
        """The notes that the model was told of with it."""
        self._asked_at = asked_at
        self._glyphs = glyphs
        self._cached: tuple[object, Sequence[Line]] = (None, ())
        self._picture_rows: Sequence[int | None] = ()
        """For each row of the last width, the picture whose badge it is."""
        self._long = len(self._excerpt(False)) < len(text)

    def stamp(self, stored: Entry) -> None:
        """Say when the question was stored, and what goes with it."""
        self._asked_at = stored.created_at
        self.mentioned = read_back(stored.context)
        self.noted = told_in(stored.context)
        self.pictures = stored.pictures
        self._cached = (None, ())
        self.refresh(layout=True)

    @property
    def whole(self) -> str | None:
        """All that was asked, however much of it is folded away."""
        return sanitise(self.source, tabs=True)

    def lines_for(self, width: int) -> Sequence[Line]:
        key = (width, self._asked_at, self.failed, self.opened, self.wanted)
        if self._cached[0] != key:
            self._cached = (key, self._typeset(width))
        return self._cached[1]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "toggle":
            return self._long
        return bool(self.pictures) if action == "pictures" else True

    def action_pictures(self) -> None:
        """Look at the pictures."""
        self.post_message(self.PicturesWanted(self.pictures))

    def on_click(self, event: events.Click) -> None:
        rows = self._picture_rows
        picture = rows[event.y] if event.y < len(rows) else None
        if picture is not None:
            self.post_message(self.PicturesWanted(self.pictures, picture))
        elif self._long:
            self.opened = not self.opened

    def _excerpt(self, opened: bool) -> str:
        if opened:
            return self.source[:OPENED_CHARACTERS]
        head = self.source[:4_000]
        lines = head.split("\n")
        return "\n".join(lines[:FOLDED_ROWS]) if len(lines) > FOLDED_ROWS else head

    def _typeset(self, width: int) -> list[Line]:
        excerpt = self._excerpt(self.opened)
        text = Content(*with_tabs(sanitise(excerpt, tabs=True).rstrip("\n"))).stylize("$text")
        rows = wrap(text, width - 2 - ASIDE_ROOM)
        if self._long:
            rows.append(decoration(self._rest(len(excerpt)), "$text-muted"))
        above = len(rows)
        for picture in self.pictures:
            rows.append(_drawn(badge(picture, self._glyphs).truncate(max(width - 2, 2), ellipsis=True)))
        self._picture_rows = [None] * above + list(range(len(self.pictures)))
        if self.mentioned:
            about = mentions(self.mentioned, self._glyphs)
            rows.extend(_drawn(row.content) for row in wrap(about, width - 2))
        if self.noted:
            told = f"told of {counted(len(self.noted), 'note')} of this folder"
            rows.extend(_drawn(row.content) for row in wrap(Content.styled(told, "$text-muted"), width - 2))
        if self.wanted is not None:
            rows.append(decoration(marked_words(self.wanted, self._glyphs), "$text-muted"))
        bar = Content.styled(self._glyphs.bar + " ", "$text-error" if self.failed else "$text-primary")
        rows = indented(rows, bar)
        first = rows[0]
        rows[0] = Line(first.content, first.gutter, first.joint, self._aside())
        return rows

    def _aside(self) -> Content:
        time = Content.styled(clock(self._asked_at), "$text-muted")
        if not self.failed:
            return time
        return Content.assemble((f"{self._glyphs.error} failed  ", "$text-error"), time)

    def _rest(self, shown: int) -> str:
        rest = self.source[shown:]
        if self.opened:
            more = f"{counted(len(rest), 'more character')}, kept and sent" if rest else "fold"
            return f"{more} {self._glyphs.opened}"
        lines = rest.count("\n")
        more = counted(lines, "more line") if lines else counted(len(rest), "more character")
        return f"{self._glyphs.ellipsis} {more} {self._glyphs.closed}"


def marked_words(mark: Mark, glyphs: Glyphs) -> str:
    """What is to become of an exchange."""
    if mark is Mark.PIN:
        return f"{glyphs.pinned} kept in every summary"
    return f"{glyphs.dropped} left out of requests"


def badge(picture: Picture, glyphs: Glyphs) -> Content:
    """A line for a picture: its name, its pixels and its bytes."""
    facts = f"  {picture.width}x{picture.height}  {size(picture.size)}"
    sign = (f"{glyphs.picture} ", "$text-primary")
    return Content.assemble(sign, (one_line(picture.name), "$text"), (facts, "$text-muted"))


def mentions(attached: Iterable[Attached], glyphs: Glyphs) -> Content:
    """What was read of the files that are mentioned, and why others were not; empty without any."""
    pieces: list[Content] = []
    for each in attached:
        if each.text is not None:
            note = f" {each.note}"
            pieces.append(Content.assemble((one_line(each.label), "$text"), (note, "$text-muted")))
        else:
            line = f"{glyphs.warning} {one_line(each.label)} not read: {one_line(each.note)}"
            pieces.append(Content.styled(line, "$text-warning"))
    return Content.styled(f"  {glyphs.dot}  ", "$text-muted").join(pieces)


def _drawn(content: Content) -> Line:
    """A row that is no part of a selection."""
    return Line(content, gutter=len(content))
