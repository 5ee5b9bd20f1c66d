"""Calls whose outcome nobody knows: what was found about each, and the finding that settles it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.agent.recovery import MEANING, Finding, seen_by_hand
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import Evidence, Observation, Pending
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.look.quantities import clock
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit
from local_agent.tui.widgets.typeset_view import TypesetView

if TYPE_CHECKING:
    from local_agent.runtime.recovering import Recovering

ARGUMENT_CHARACTERS = 2_000
_TIME_FROM = 50
"""Cells of a row from which on it says when."""
_EXPLAINED = (
    "The program ended while this ran, so whether it took effect is not in its records. Until you say so, "
    "no turn runs that could do it again. Nothing is repeated here; the model is told what you settle."
)


class RecoverScreen(Screen[bool]):
    """Gives True once nothing is uncertain any more."""

    CSS_PATH = "recover.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "confirm", "confirm", id="recover.confirm"),
        Binding("a", "found('effect_applied')", "was done", id="recover.applied"),
        Binding("n", "found('effect_not_applied')", "was not", id="recover.not_applied"),
        Binding("c", "found('effect_compensated')", "put right", id="recover.compensated"),
        Binding("escape", "close", "close", id="recover.close"),
        Binding("r", "look", "look again", id="recover.look"),
        Binding("up", "move('cursor_up')", "Up", show=False),
        Binding("down", "move('cursor_down')", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
    ]

    def __init__(
        self,
        pending: Callable[[], Awaitable[Sequence[Pending]]],
        recovering: Recovering,
        *,
        here: str = "",
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Uncertain", "bold"), id="heading", markup=False)
        self._view = TypesetView()
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._pending = pending
        self._recovering = recovering
        self._here = here
        self._glyphs = glyphs
        self._findings: Sequence[Finding] = ()
        self.settled = 0
        """How many were, here."""
        self._settling = True
        """Also while the first look is not over: a key meant for what was there before settles nothing."""

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.row_list
        yield VerticalScroll(self._view, can_focus=False)
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.action_look()

    @property
    def selected(self) -> Finding | None:
        """The one the pointer is at."""
        index = self.row_list.highlighted
        return self._findings[index] if index is not None and index < len(self._findings) else None

    @property
    def listening(self) -> bool:
        """False while something is looked at or written."""
        return not self._settling

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        match action:
            case "confirm":
                return self.selected is not None and self.selected.proposal is not None
            case "found":
                return self.selected is not None
            case _:
                return True

    @work(group="settle", exclusive=True)
    async def action_look(self) -> None:
        """Look at everything again."""
        self._settling = True
        await self._show()
        self._settling = False

    @on(OptionList.OptionSelected)
    def action_confirm(self) -> None:
        finding = self.selected
        if finding is not None and finding.proposal is not None and not self._settling:
            self._settle(finding, finding.proposal)

    def action_found(self, observation: str) -> None:
        finding = self.selected
        if finding is not None and not self._settling:
            self._settle(finding, seen_by_hand(Observation(observation), finding.looked_at))

    def action_close(self) -> None:
        self.dismiss(False)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def action_page(self, pages: int) -> None:
        scroll = self.query_one(VerticalScroll)
        scroll.scroll_relative(y=pages * max(scroll.size.height - 1, 1), animate=False)

    @work(group="settle", exclusive=True)
    async def _settle(self, finding: Finding, evidence: Evidence) -> None:
        self._settling = True
        what = one_line(f"{finding.execution.tool} {finding.execution.target}".strip(), 40)
        try:
            await self._recovering.settle(finding.pending.handle, [finding.execution.id], evidence)
            self.settled += 1
            self._say(f"{self._glyphs.ok} {what}: {MEANING[evidence.observation]}.", "$text-success")
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
        if await self._show() and not self._findings:
            self.dismiss(True)
        self._settling = False

    async def _show(self) -> bool:
        """Read and draw what is uncertain now; False when it can't be read."""
        try:
            self._findings = await self._recovering.look_into(await self._pending())
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return False
        rows, index = self.row_list, self.row_list.highlighted or 0
        rows.set_options(map(self._option, self._findings))
        about = f" {self._glyphs.dot} {len(self._findings)}" if self._findings else ""
        self._heading.update(Content.assemble(("Uncertain", "bold"), (about, "$text-muted")))
        if self._findings:
            rows.highlighted = min(index, len(self._findings) - 1)
        else:
            nothing = Content.styled("  Nothing is uncertain: every call's outcome is known.", "$text-muted")
            rows.add_option(Option(nothing, disabled=True))
            self._view.show(None)
        self.refresh_bindings()
        return True

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        finding = self.selected
        if finding is not None:
            self._view.show(lambda width: self._lines(finding, width))
            self.query_one(VerticalScroll).scroll_home(animate=False)
        self.refresh_bindings()

    def _option(self, finding: Finding) -> Option:
        execution = finding.execution

        def draw(width: int) -> Content:
            began = f"  {clock(execution.started_at)}" if width >= _TIME_FROM else ""
            when = Content.styled(began, "$text-muted")
            sign = Content.styled(f"{self._glyphs.warning} ", "$text-warning")
            what = Content.assemble(one_line(execution.tool, 20), "  ", one_line(execution.target, 200))
            return Content.assemble(sign, fit(what, width - 2 - when.cell_length), when)

        return Option(Row(draw))

    def _lines(self, finding: Finding, width: int) -> list[Line]:
        lines = [line for text in finding.lines for line in wrap(Content(text), width)]
        lines += [BLANK, *self._proposed(finding, width), BLANK]
        lines += wrap(Content.styled(_EXPLAINED, "$text-muted"), width)
        if finding.pending.handle != self._here:
            whose = f"It was begun by session {finding.pending.handle}; settling it here settles it there."
            lines += wrap(Content.styled(whose, "$text-muted"), width)
        bar = Content.styled(f"{self._glyphs.thin_bar} ", "$text-muted")
        for name, value in finding.execution.arguments.items():
            shown = sanitise(f"{name}: {value}"[:ARGUMENT_CHARACTERS])
            lines += [BLANK, *indented(wrap(Content.styled(shown, "$text-muted"), width - 2), bar)]
        return lines

    def _proposed(self, finding: Finding, width: int) -> list[Line]:
        if finding.proposal is None:
            return wrap(Content.styled("Nothing is proposed.", "$text-warning"), width)
        proposal = finding.proposal
        words = f"Proposed: {MEANING[proposal.observation]}."
        lines = wrap(Content.styled(words, "bold"), width)
        return lines + wrap(
            Content.styled(f"{proposal.summary} ({proposal.reference})", "$text-muted"), width
        )

    def _say(self, text: str, style: str) -> None:
        self._line.update(Content.styled(one_line(text), style))
        self._line.display = bool(text)
