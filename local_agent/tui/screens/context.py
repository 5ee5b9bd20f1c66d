"""What fills the context window: part by part and turn by turn, what leaves it next, what was read again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.marks import Mark
from local_agent.domain.sections import TurnWeight
from local_agent.domain.text import one_line
from local_agent.domain.tree import words_of
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, wrap
from local_agent.tui.look.quantities import clock, counted, tokens
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit, fit_right
from local_agent.tui.widgets.typeset_view import TypesetView

if TYPE_CHECKING:
    from local_agent.runtime.context import ContextFacts

BREAKS_SHOWN = 6
_LABEL = 13
_COUNT = 6
_WIDEST_BAR = 44
_SIGN = 2
_WORDS_FROM = 46
"""Cells of a row from which on it says in words what becomes of its turn."""


class ContextSource(Protocol):
    """What is shown, and what may be changed about it."""

    async def context(self) -> ContextFacts:
        """What the next request is made of."""

    async def mark(self, mark: Mark, entry_id: int) -> None:
        """Keep a turn in requests, leave it out of them, or neither."""


class ContextScreen(Screen[bool]):
    """Gives True when earlier turns are to be summarised now."""

    CSS_PATH = "context.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p", "mark('pin')", "pin", id="context.pin"),
        Binding("x", "mark('drop')", "drop", id="context.drop"),
        Binding("f", "mark('free')", "free", id="context.free"),
        Binding("escape,q", "close", "close", id="context.close"),
        Binding("c", "compact", "compact", id="context.compact"),
        Binding("r", "look", "look again", id="context.look"),
        Binding("up,k", "move('cursor_up')", "Up", id="context.up", show=False),
        Binding("down,j", "move('cursor_down')", "Down", id="context.down", show=False),
        Binding("pageup", "page(-1)", "Page up", id="context.page_up", show=False),
        Binding("pagedown", "page(1)", "Page down", id="context.page_down", show=False),
    ]

    def __init__(self, source: ContextSource, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Context", "bold"), id="heading", markup=False)
        self._view = TypesetView()
        self._facts_view = VerticalScroll(self._view, can_focus=False)
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._source = source
        self._glyphs = glyphs
        self._facts: ContextFacts | None = None

    def compose(self) -> ComposeResult:
        yield self._heading
        yield Container(self._facts_view, self.row_list, id="sides")
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.action_look()

    @property
    def selected(self) -> TurnWeight | None:
        """The turn that the pointer is at."""
        index, facts = self.row_list.highlighted, self._facts
        known = facts is not None and index is not None and index < len(facts.turns)
        return facts.turns[index] if known and facts is not None and index is not None else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action != "mark":
            return True
        turn = self.selected
        return turn is not None and parameters != (turn.mark or Mark.FREE,)

    def action_close(self) -> None:
        self.dismiss(False)

    def action_compact(self) -> None:
        self.dismiss(True)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def action_page(self, pages: int) -> None:
        view = self._facts_view
        view.scroll_relative(y=pages * max(view.size.height - 1, 1), animate=False)

    @work(group="context", exclusive=True)
    async def action_look(self) -> None:
        """Weigh everything again, and draw it."""
        await self._look()

    @work(group="mark")
    async def action_mark(self, mark: str) -> None:
        """Say what becomes of the chosen turn in the requests that follow."""
        turn = self.selected
        if turn is None:
            return
        try:
            await self._source.mark(Mark(mark), turn.entry.id)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._say("")
        await self._look()

    async def _look(self) -> None:
        try:
            facts = await self._source.context()
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        first, self._facts = self._facts is None, facts
        rows, index = self.row_list, self.row_list.highlighted
        self._heading.update(_heading(facts, self._glyphs))
        self._view.show(lambda width: list(_lines(facts, width, self._glyphs)))
        options = [Option(Row(_Turn(turn, facts, self._glyphs).draw)) for turn in facts.turns]
        rows.set_options(options or [_nothing()])
        if options:
            rows.highlighted = len(options) - 1 if first or index is None else min(index, len(options) - 1)
        self.refresh_bindings()

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        self.refresh_bindings()

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)


def _heading(facts: ContextFacts, glyphs: Glyphs) -> Content:
    share = f"{facts.used / facts.window:.0%} of {tokens(facts.window)}" if facts.window else "no model yet"
    about = f" {glyphs.dot} {one_line(facts.model, 40)}" if facts.model else ""
    return Content.assemble(("Context", "bold"), f" {glyphs.dot} {share}", (about, "$text-muted"))


def _lines(facts: ContextFacts, width: int, glyphs: Glyphs) -> Iterator[Line]:
    yield _whole(facts, width, glyphs)
    for text, style in _room(facts):
        yield from wrap(Content.styled(text, style), width)
    largest = max(facts.sections.values(), default=0)
    for section, count in facts.sections.items():
        if count:
            yield _section(section, count, largest, width, glyphs)
    yield BLANK
    for text, style in _sentences(facts):
        yield from wrap(Content.styled(text, style), width)


def _whole(facts: ContextFacts, width: int, glyphs: Glyphs) -> Line:
    """All of the window in one bar, with a sign where earlier turns are summarised."""
    cells = max(width, 1)
    used = min(cells, round(cells * facts.used / facts.window)) if facts.window else 0
    at = min(cells - 1, round(cells * facts.compacts_at / facts.window)) if facts.window else cells
    full, empty, mark = glyphs.levels[3], glyphs.levels[0], glyphs.thin_bar
    style = "$text-warning" if facts.window and facts.used > facts.compacts_at else "$primary"
    bar = Content.assemble((full * used, style), (empty * (cells - used), "$border-blurred"))
    if used <= at < cells:
        bar = Content.assemble(bar[:at], (mark, "$text-muted"), bar[at + 1 :])
    return Line(bar, gutter=cells)


def _section(name: str, count: int, largest: int, width: int, glyphs: Glyphs) -> Line:
    room = max(0, min(_WIDEST_BAR, width - _LABEL - _COUNT - 1))
    bar = glyphs.levels[3] * max(1, round(room * count / largest)) if room else ""
    label = fit(Content.styled(name, "$text-muted"), min(_LABEL, max(width - _COUNT, 1)))
    text = Content.assemble(label, fit_right(Content(tokens(count)), _COUNT), " ", (bar, "$primary"))
    return Line(text)


def _room(facts: ContextFacts) -> Iterator[tuple[str, str]]:
    if facts.window:
        reply = min(facts.max_output, facts.room)
        tight = "$text-warning" if reply < min(facts.max_output, facts.window // 8) else ""
        yield f"{facts.room:,} tokens are free; a reply may have {reply:,}.", tight


def _sentences(facts: ContextFacts) -> Iterator[tuple[str, str]]:
    """What there is to know besides, each with its style."""
    if facts.counted is not None:
        yield f"The server counted {facts.counted:,} for the last request.", ""
    if facts.factor is not None:
        yield (
            f"It counts {facts.factor:.2f} x our own estimate; what is shown allows for that.",
            "$text-muted",
        )
    yield from _leaving(facts)
    breaks = facts.breaks[-BREAKS_SHOWN:]
    if breaks:
        yield "Read again by the server:", ""
    for each in reversed(breaks):
        yield f"{clock(each.at)} about {each.tokens:,} tokens: {each.broken.why}.", "$text-muted"


def _leaving(facts: ContextFacts) -> Iterator[tuple[str, str]]:
    if facts.summary is not None:
        when = clock(facts.summary.created_at)
        yield f"Turns that left are summarised here ({when}); the transcript keeps them.", "$text-muted"
    if not facts.window or not facts.turns:
        return
    at = f"{facts.compacts_at:,} tokens"
    if facts.leaving:
        yield f"Past {at} the oldest {counted(len(facts.leaving), 'turn')} will be summarised.", "$text-muted"
    else:
        yield f"Past {at} older turns will be summarised; none could be now.", "$text-muted"


class _Turn:
    """One row: what becomes of the turn, how it begins, what it weighs."""

    def __init__(self, turn: TurnWeight, facts: ContextFacts, glyphs: Glyphs) -> None:
        self._sign, self._word, self._style = " ", "", ""
        leaves = turn.entry.id in facts.leaving
        match turn.mark:
            case Mark.PIN:
                self._sign, self._word, self._style = glyphs.pinned, "pinned", "$text-success"
            case Mark.DROP:
                self._sign, self._word, self._style = glyphs.dropped, "dropped", "$text-muted"
            case _ if leaves:
                self._sign, self._word, self._style = glyphs.circle, "leaves next", "$text-warning"
            case _ if not turn.tokens:
                self._word, self._style = "not sent", "$text-muted"
        self._text = one_line(words_of(turn.entry), 400) if turn.entry.readable else "(can't be read)"
        self._count = tokens(turn.tokens) if turn.tokens else ""

    def draw(self, width: int) -> Content:
        word = f"  {self._word}" if width >= _WORDS_FROM and self._word else ""
        room = max(1, width - _SIGN - _COUNT - len(word))
        muted = self._style if not self._count else ""
        return Content.assemble(
            (f"{self._sign} ", self._style),
            fit(Content.styled(self._text, muted), room),
            (word, self._style),
            fit_right(Content.styled(self._count, "$text-muted"), _COUNT),
        )


def _nothing() -> Option:
    return Option(Content.styled("  Nothing has been asked yet.", "$text-muted"), disabled=True)
