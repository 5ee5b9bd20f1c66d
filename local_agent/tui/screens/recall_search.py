"""Search through what was asked before; the chosen question goes into the composer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.asked import AskedPage, AskedQuestion
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.device.catching_up import catch_up_typing
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import Line, wrap
from local_agent.tui.look.quantities import ago
from local_agent.tui.look.workspace_names import folder_name
from local_agent.tui.prompt.gathered import MOST, Gathered
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.row_list import Row, RowList, fit
from local_agent.tui.widgets.session_row import found
from local_agent.tui.widgets.typeset_view import TypesetView

SHOWN = 100
"""Rows that are made at once."""
ROW_CHARACTERS = 300
PREVIEWED_CHARACTERS = 4_000
_FACTS_FROM = 60
"""Cells of a row from which on it says more than the question."""


class QuestionSource(Protocol):
    """Where the questions come from."""

    async def own(self) -> Sequence[AskedQuestion]:
        """The newest of the session that is open."""

    async def page(self, *, everywhere: bool, before: int | None = None) -> AskedPage:
        """The newest of the folder, or of all folders."""

    async def whole(self, question: AskedQuestion) -> str:
        """All of a question's text."""


class RecallSearchScreen(Screen[str | None]):
    """Gives the text of the chosen question, or None."""

    CSS_PATH = "recall_search.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "use", id="recall.choose", priority=True),
        Binding("tab", "everywhere", "all folders", id="recall.everywhere", priority=True),
        Binding("escape", "close", "close", id="recall.close"),
        Binding("up", "move('cursor_up')", "Up", show=False, priority=True),
        Binding("down,ctrl+r", "move('cursor_down')", "Down", show=False, priority=True),
        Binding("pageup", "move('page_up')", "Page up", show=False, priority=True),
        Binding("pagedown", "move('page_down')", "Page down", show=False, priority=True),
    ]

    def __init__(
        self, source: QuestionSource, *, folder: str, typed: str = "", glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__()
        self.filter_input = LineInput(
            one_line(typed), id="filter", placeholder="type words of it", compact=True, select_on_focus=False
        )
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(id="heading", markup=False)
        self._preview = TypesetView()
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._source = source
        self._folder = folder
        self._glyphs = glyphs
        self._everywhere = False
        self._gathered = Gathered()
        self._matching: list[AskedQuestion] = []

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.filter_input
        yield self.row_list
        yield VerticalScroll(self._preview, id="preview", can_focus=False)
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.filter_input.focus()
        self._gather()

    @property
    def matching(self) -> Sequence[AskedQuestion]:
        """The questions that hold what is typed, newest first."""
        return self._matching

    @property
    def selected(self) -> AskedQuestion | None:
        """The question the pointer is at."""
        index = self.row_list.highlighted
        return self._matching[index] if index is not None and index < len(self._matching) else None

    @work(group="gather", exclusive=True)
    async def _gather(self) -> None:
        """Read page after page; what came is searched at once."""
        self._gathered = gathered = Gathered()
        try:
            if not self._everywhere:
                gathered.add(await self._source.own())
            page = await self._source.page(everywhere=self._everywhere)
            gathered.add(page.questions)
            self._narrow()
            while page.rest is not None and not gathered.full:
                page = await self._source.page(everywhere=self._everywhere, before=page.rest)
                gathered.add(page.questions)
                self._narrow(again=True)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")

    @on(Input.Changed, "#filter")
    def _typed(self) -> None:
        self._say("")
        self._narrow()

    def _narrow(self, *, again: bool = False) -> None:
        """Show what matches; ``again``: more may have come behind what is shown already."""
        rows = self.row_list
        before, self._matching = len(self._matching), self._gathered.matching(self.filter_input.value)
        self._show_heading()
        if again and before >= SHOWN:
            return
        kept = rows.highlighted if again else None
        rows.set_options(map(self._option, self._matching[:SHOWN]))
        if self._matching:
            rows.highlighted = kept or 0
        else:
            rows.add_option(Option(Content.styled(f"  {self._nothing()}", "$text-muted"), disabled=True))
            self._preview.show(None)

    @on(RowList.NearEnd)
    def _more(self) -> None:
        shown = self.row_list.option_count
        if self._matching and shown < len(self._matching):
            self.row_list.add_options(map(self._option, self._matching[shown : shown + SHOWN]))

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        question = self.selected
        if question is not None:
            self._preview.show(lambda width: _previewed(question, width, self._glyphs))
            self.query_one("#preview").scroll_home(animate=False)

    async def action_choose(self) -> None:
        await catch_up_typing(self.filter_input, self)
        self._choose()

    @on(OptionList.OptionSelected)
    @work(group="choose", exclusive=True)
    async def _choose(self) -> None:
        question = self.selected
        if question is None:
            return
        try:
            self.dismiss(await self._source.whole(question))
        except LocalAgentError as error:
            self._say(str(error), "$text-error")

    def action_everywhere(self) -> None:
        self._everywhere = not self._everywhere
        self._gather()

    def action_close(self) -> None:
        self.dismiss(None)

    async def action_move(self, how: str) -> None:
        await catch_up_typing(self.filter_input, self)
        getattr(self.row_list, f"action_{how}")()

    def _option(self, question: AskedQuestion) -> Option:
        folder = folder_name(question.folder) if self._everywhere else ""
        typed = self.filter_input.value.lower()
        return Option(Row(lambda width: _row(question, width, typed, folder, self._glyphs)))

    def _nothing(self) -> str:
        if typed := one_line(self.filter_input.value, 40):
            return f"No question holds {typed!r} here."
        return "Nothing was asked here yet."

    def _show_heading(self) -> None:
        where = "all folders" if self._everywhere else folder_name(self._folder)
        of = f" of the newest {MOST:,}" if self._gathered.full else ""
        facts = (where, f"{len(self._matching):,}{of}")
        about = "".join(f" {self._glyphs.dot} {fact}" for fact in facts)
        self._heading.update(Content.assemble(("Questions", "bold"), (about, "$text-muted")))

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)


def _row(question: AskedQuestion, width: int, typed: str, folder: str, glyphs: Glyphs) -> Content:
    text = one_line(question.text[: ROW_CHARACTERS * 2], ROW_CHARACTERS)
    words = Content(text)
    for start, end in found(typed, text):
        words = words.stylize("underline", start, end)
    if width < _FACTS_FROM:
        return words
    about = folder or one_line(question.title)
    facts = fit(Content.styled(about, "$text-muted"), min(24, width // 4))
    when = Content.styled(ago(question.asked_at).rjust(10), "$text-muted")
    return Content.assemble(fit(words, width - facts.cell_length - 14), "  ", facts, "  ", when)


def _previewed(question: AskedQuestion, width: int, glyphs: Glyphs) -> list[Line]:
    text = sanitise(question.text[:PREVIEWED_CHARACTERS]).strip("\n")
    if len(text) <= width - 4 and "\n" not in text:
        return []
    rest = "" if question.whole and len(question.text) <= PREVIEWED_CHARACTERS else f" {glyphs.ellipsis}"
    return wrap(Content(text + rest), width)
