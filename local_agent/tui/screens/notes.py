"""What is noted of the folder: find a note as you type; add, edit, delete; decide about what is proposed."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.notes import Note, Notes
from local_agent.domain.searching import fold
from local_agent.domain.text import one_line
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import ago, counted
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.row_list import Row, RowList, fit

NEW = 0
"""In the place of a note's id: one that is being written."""
_ID, _AGO = 5, 9
_WIDE, _WIDEST = 50, 90
_NOTHING = "Nothing is noted of this folder yet. f2 notes something; models ask before they do."
_NO_SUCH = "No note says that. f2 makes one of it."


class NotesSource(Protocol):
    """What the screen may do to the notes. Everything raises ``LocalAgentError``."""

    async def read(self) -> Notes:
        """All of them."""

    async def add(self, text: str) -> Notes:
        """Note something."""

    async def edit(self, note_id: int, text: str) -> Notes:
        """Give a note another text; a proposal counts from then on."""

    async def accept(self, note_id: int) -> Notes:
        """Have a proposal count."""

    async def delete(self, note_id: int) -> Notes:
        """Delete a note, or drop a proposal."""

    async def put_back(self, note: Note) -> Notes:
        """Undo a deletion."""


class NotesScreen(Screen[None]):
    """The inbox comes first, then the notes, the last changed first."""

    CSS_PATH = "notes.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept_line", "edit", id="notes.edit", priority=True),
        Binding("f2", "add", "new", id="notes.add"),
        Binding("f4", "accept", "accept", id="notes.accept"),
        Binding("f8", "delete", "delete", id="notes.delete"),
        Binding("ctrl+z", "undo", "undo", id="notes.undo", priority=True),
        Binding("escape", "close", "close", id="notes.close"),
        Binding("up", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
    ]

    def __init__(
        self,
        source: NotesSource,
        *,
        remark: str = "",
        only_inbox: bool = False,
        editing: int | None = None,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        """``remark``: what is said at first. ``editing``: the note to begin with, or ``NEW``."""
        super().__init__()
        self.filter_input = LineInput(id="filter", placeholder="type what a note says", compact=True)
        self.text_input = LineInput(
            id="text", placeholder="one fact, in one line", compact=True, select_on_focus=False
        )
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Notes", "bold"), id="heading", markup=False)
        self._about = Static(id="about", markup=False)
        self._line = Static(id="line", markup=False)
        self._source = source
        self._remark = remark
        self._only_inbox = only_inbox
        self._first = editing
        self._glyphs = glyphs
        self._notes: Notes | None = None
        self._shown: list[Note] = []
        self._editing: int | None = None
        self._deleted: list[Note] = []

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.text_input
        yield self.row_list
        yield self._about
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.filter_input.focus()
        self._say(self._remark)
        self._begin()

    @property
    def editing(self) -> bool:
        """True while a note is being typed."""
        return self._editing is not None

    @property
    def selected(self) -> Note | None:
        """The note that the pointer is at."""
        place = self.row_list.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "undo":
                return bool(self._deleted) and not self.editing
            case "accept":
                return self.selected is not None and self.selected.proposed and not self.editing
            case "delete":
                return self.selected is not None and not self.editing
            case "add" | "move":
                return not self.editing
            case _:
                return True

    @work(group="notes", exclusive=True)
    async def _begin(self) -> None:
        if not await self._take(self._source.read()) or self._notes is None:
            return
        if self._first == NEW:
            self._edit(NEW, "")
        elif self._first is not None:
            try:
                note = self._notes.find(self._first)
            except LocalAgentError as error:
                self._say(str(error), "$text-error")
            else:
                self._point_at(note.id)
                self._edit(note.id, note.text)

    @on(Input.Changed, "#filter")
    def _narrow(self) -> None:
        if self._notes is None:
            return
        before = self.selected
        words = fold(self.filter_input.value).split()
        all_notes = [*self._notes.inbox, *([] if self._only_inbox else self._notes.kept)]
        self._shown = [note for note in all_notes if all(word in fold(_searched(note)) for word in words)]
        self.row_list.set_options(self._option(note) for note in self._shown)
        if self._shown:
            self._point_at(before.id if before is not None else None)
        else:
            nothing = "The inbox is empty." if self._only_inbox else _NO_SUCH if words else _NOTHING
            self.row_list.set_options([Option(Content.styled(f"  {nothing}", "$text-muted"), disabled=True)])
        self._describe()

    @on(OptionList.OptionHighlighted)
    def _describe(self) -> None:
        note = self.selected
        self._about.update(Content(note.text) if note is not None else "")
        self.refresh_bindings()

    async def action_accept_line(self) -> None:
        await catch_up_typing(self.text_input if self.editing else self.filter_input, self)
        self._accept_line()

    @on(OptionList.OptionSelected)
    def _accept_line(self) -> None:
        if self._editing is not None:
            self._keep(self._editing, self.text_input.value)
        elif (note := self.selected) is not None:
            self._edit(note.id, note.text)

    async def action_add(self) -> None:
        await catch_up_typing(self.filter_input, self)
        # What was looked for and is not there is often what is to be noted.
        self._edit(NEW, self.filter_input.value if not self._shown else "")

    def action_accept(self) -> None:
        if (note := self.selected) is not None:
            self._carry_out(self._source.accept(note.id), f"Note {note.id} counts from now on.")

    def action_delete(self) -> None:
        if (note := self.selected) is not None:
            what = "proposal" if note.proposed else "note"
            self._carry_out(
                self._source.delete(note.id), f"The {what} is deleted; ctrl+z brings it back.", deleted=note
            )

    def action_undo(self) -> None:
        note = self._deleted.pop()
        self._carry_out(self._source.put_back(note), "It is back.", brought_back=note)

    def action_close(self) -> None:
        if self.editing:
            self._end_editing()
        else:
            self.dismiss(None)

    async def action_move(self, how: str) -> None:
        await catch_up_typing(self.filter_input, self)
        getattr(self.row_list, f"action_{how}")()

    def _edit(self, note_id: int, text: str) -> None:
        self._editing = note_id
        self.text_input.value = text
        self.add_class("-editing")
        self.set_focus(self.text_input)
        self._say("enter keeps it, esc leaves it as it is")
        self.refresh_bindings()

    def _end_editing(self) -> None:
        self._editing = None
        self.remove_class("-editing")
        self.set_focus(self.filter_input)
        self._say("")
        self.refresh_bindings()

    @work(group="change")
    async def _keep(self, note_id: int, text: str) -> None:
        changing = self._source.add(text) if note_id == NEW else self._source.edit(note_id, text)
        if await self._take(changing):
            if note_id == NEW:
                self.filter_input.value = ""
            self._end_editing()
            if self._notes is not None and self._notes.kept:
                self._narrow()
                self._point_at(note_id or self._notes.kept[0].id)

    @work(group="change")
    async def _carry_out(
        self,
        changing: Awaitable[Notes],
        said: str,
        *,
        deleted: Note | None = None,
        brought_back: Note | None = None,
    ) -> None:
        done = await self._take(changing)
        # What can be brought back: what was deleted, and what could not be brought back.
        undoable = deleted if done else brought_back
        if undoable is not None:
            self._deleted.append(undoable)
        if done:
            self._say(said)
            if brought_back is not None:
                self._point_at(brought_back.id)
        self.refresh_bindings()

    async def _take(self, coming: Awaitable[Notes]) -> bool:
        """Show the notes as they are now; what failed is said, and what is typed stays."""
        try:
            self._notes = await coming
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return False
        kept, inbox = len(self._notes.kept), len(self._notes.inbox)
        counts = [counted(kept, "note"), f"{inbox} proposed" if inbox else ""]
        about = "".join(f" {self._glyphs.dot} {words}" for words in counts if words)
        self._heading.update(Content.assemble(("Notes", "bold"), (about, "$text-muted")))
        self._narrow()
        return True

    def _point_at(self, note_id: int | None) -> None:
        places = (place for place, note in enumerate(self._shown) if note.id == note_id)
        self.row_list.highlighted = next(places, 0 if self._shown else None)

    def _option(self, note: Note) -> Option:
        source = f"session {note.session}  " if note.session else ""

        def draw(width: int) -> Content:
            number = fit(Content.styled(str(note.id), "$text-muted"), _ID)
            sign = "proposed" if width > _WIDE else self._glyphs.waiting
            state = Content.styled(f"{sign}  " if note.proposed else "", "$text-warning")
            aside = (
                f"  {source if width > _WIDEST else ''}{ago(note.updated):>{_AGO}}" if width > _WIDE else ""
            )
            behind = Content.styled(aside, "$text-muted")
            room = width - _ID - state.cell_length - behind.cell_length
            return Content.assemble(number, state, fit(Content(note.text), room), behind)

        return Option(Row(draw))

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)


def _searched(note: Note) -> str:
    return f"{note.id} {note.text} {note.session}"
