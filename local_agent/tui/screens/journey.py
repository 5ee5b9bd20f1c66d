"""What goes back, or forth again, where files are not as they were: the conversation, the files or both."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from local_agent.domain.moves import Cause, Scope
from local_agent.domain.restoring import FilePlan, PlannedPath, Standing
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.screens.dialog import Choice, Dialog
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.panel import Panel
from local_agent.tui.widgets.row_list import Row, RowList, fit

if TYPE_CHECKING:
    from local_agent.domain.moves import Landing

Compare = Callable[[Sequence[PlannedPath]], Awaitable[str]]
"""Gives what putting these paths back would do, as a diff."""

_LOW_ROWS = 18
_NUMBER, _SCOPE, _BECOMES = 2, 14, 13
_ORDER = (Standing.RESTORED, Standing.CONFLICT, Standing.LOST, Standing.BARRED)


class Going(StrEnum):
    """What is to go there."""

    NOTHING = "nothing"
    CONVERSATION = "conversation"
    FILES = "files"
    BOTH = "both"

    @property
    def scope(self) -> Scope | None:
        """None where nothing goes."""
        return None if self is Going.NOTHING else Scope(self)


class FileRows(RowList):
    """The files below the choices."""

    class Opened(Message):
        """One of them was opened."""

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()  # the dialog takes it for an answer
        self.post_message(self.Opened())


class JourneyDialog(Dialog[Going]):
    """The conversation alone by default; Esc leaves everything as it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "go", id="journey.go"),
        Binding("escape", "refuse", "cancel", id="journey.cancel"),
        Binding("v", "view", "diff", id="journey.view"),
        Binding("enter", "view", "Diff of the file", id="journey.look", show=False),
        Binding("1,c", "choose(0)", "The conversation", id="journey.conversation", show=False),
        Binding("2,f", "choose(1)", "The files", id="journey.files", show=False),
        Binding("3,b", "choose(2)", "Both", id="journey.both", show=False),
        Binding("pageup", "page('page_up')", "Page up", id="journey.page_up", show=False),
        Binding("pagedown", "page('page_down')", "Page down", id="journey.page_down", show=False),
    ]

    def __init__(self, landing: Landing, plan: FilePlan, compare: Compare, *, glyphs: Glyphs = UNICODE):
        self.files = FileRows(id="files", glyphs=glyphs)
        self._paths = tuple(path for standing in _ORDER for path in plan.of(standing))
        self._compare = compare
        back = back_words(plan)
        as_then = "is not as it was" if len(self._paths) == 1 else "are not as they were"
        super().__init__(
            heading_of(landing),
            [f"{counted(len(self._paths), 'file')} {as_then} then."],
            [
                Choice(Going.CONVERSATION, "the files stay"),
                Choice(Going.FILES, back),
                Choice(Going.BOTH, back),
            ],
            glyphs=glyphs,
        )

    def compose_more(self) -> ComposeResult:
        yield self.files
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.files.add_options(Option(Row(_row(path, self._glyphs))) for path in self._paths)

    def make_room(self) -> None:
        """The choices stay in sight however small the terminal is, and with them at least one file."""
        panel = self.query_one(Panel)
        low = self.size.height < _LOW_ROWS
        text = 2 if low else 4
        line = self.query_one(KeyLine)
        rest = self.size.height - panel.styles.padding.height - len(self._choices) - text
        rest -= 3 + line.styles.margin.height + self.files.styles.margin.height
        self.query_one(VerticalScroll).styles.max_height = text
        self.files.styles.height = max(1, min(len(self._paths), rest, self.size.height // 2))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.files.highlighted is None if action == "accept" else True

    def action_refuse(self) -> None:
        self.dismiss(Going.NOTHING)

    def action_choose(self, number: int) -> None:
        """Point at a choice; Enter gives it."""
        self._leave_files()
        self.row_list.highlighted = number

    def action_move(self, how: str) -> None:
        """Through the choices, and from the last one on through the files."""
        choices, files = self.row_list, self.files
        if files.highlighted is not None:
            if how == "cursor_up" and files.highlighted == 0:
                self._leave_files()
            else:
                getattr(files, f"action_{how}")()
        elif how == "cursor_down" and choices.highlighted == choices.option_count - 1:
            self._enter_files()
        else:
            getattr(choices, f"action_{how}")()

    def action_page(self, how: str) -> None:
        """Through the files."""
        self._enter_files()
        getattr(self.files, f"action_{how}")()

    @on(FileRows.Opened)
    async def action_view(self) -> None:
        """What would be done to the file that is pointed at, or to all of them."""
        from local_agent.tui.screens.viewer import ViewerScreen

        place = self.files.highlighted
        paths = self._paths if place is None else self._paths[place : place + 1]
        title = one_line(paths[0].path, 200) if len(paths) == 1 else counted(len(paths), "file")
        diff = await self._compare(paths)
        self.app.push_screen(ViewerScreen(title, diff, raw=True, glyphs=self._glyphs))

    def _enter_files(self) -> None:
        if self.files.highlighted is None:
            self.files.highlighted = 0
            self.refresh_bindings()

    def _leave_files(self) -> None:
        self.files.highlighted = None
        self.files.scroll_home(animate=False)
        self.refresh_bindings()

    def _option(self, number: int) -> Option:
        choice = self._choices[number]

        def draw(width: int) -> Content:
            about = fit(Content.styled(choice.label, "$text-muted"), max(width - _NUMBER - _SCOPE, 1))
            return Content.assemble(
                fit(Content.styled(str(number + 1), "$text-muted"), _NUMBER),
                fit(Content(choice.answer), _SCOPE),
                about,
            )

        return Option(Row(draw))


def heading_of(landing: Landing) -> str:
    """What is asked about."""
    match landing.cause:
        case Cause.UNDO:
            return f"Undo {landing.what}?"
        case Cause.REDO:
            return f"Do again: {landing.what}?"
        case Cause.SWITCH:
            return f"Switch to {landing.what}?"
        case _:
            return f"Restore {landing.what}?"


def back_words(plan: FilePlan) -> str:
    """``3 back, 1 kept``"""
    kept = len([path for path in plan.paths if path.standing in _ORDER[1:]])
    back = len(plan.steps)
    parts = [f"{back} back" if back else "none back", f"{kept} kept" if kept else ""]
    return ", ".join(filter(None, parts))


def becomes(path: PlannedPath) -> tuple[str, str]:
    """What putting back does to a path, in a word or two, and the colour of that."""
    match path.standing:
        case Standing.CONFLICT:
            return "keep", "$text-warning"
        case Standing.LOST:
            return "lost", "$text-error"
        case Standing.BARRED:
            return "leave", "$text-warning"
        case Standing.AS_IT_WAS:
            return "as it was", "$text-muted"
    if not path.then.digest:
        return "remove", "$text-error"
    if not path.now.digest:
        return "bring back", "$text-success"
    return ("set mode" if path.now.same_content(path.then) else "change back"), "$text-primary"


def _row(path: PlannedPath, glyphs: Glyphs) -> Callable[[int], Content]:
    word, style = becomes(path)
    name, note = one_line(path.path), one_line(path.note)

    def draw(width: int) -> Content:
        state = fit(Content.styled(word, style), _BECOMES)
        room = max(width - _BECOMES, 1)
        aside = Content.styled(f"  {note}" if note else "", "$text-muted")
        if len(name) + aside.cell_length > room:
            aside = aside.truncate(max(room - len(name), 0), ellipsis=True)
        return Content.assemble(state, fit(Content(name), max(room - aside.cell_length, 1)), aside)

    return draw
