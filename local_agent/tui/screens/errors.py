"""The trail of failed turns of a conversation, newest first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.domain.entries import ErrorRecord
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.look.quantities import clock
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.typeset_view import TypesetView


class ErrorsScreen(Screen[None]):
    """For looking only: the model never reads these, a resume never replays them."""

    CSS_PATH = "errors.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "close", "close", id="errors.close")]

    def __init__(self, load: Callable[[], Awaitable[list[ErrorRecord]]], *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._load = load
        self._glyphs = glyphs
        self._heading = Static(Content.styled("Errors", "bold"), id="heading", markup=False)
        self._view = TypesetView()

    def compose(self) -> ComposeResult:
        yield self._heading
        yield VerticalScroll(self._view)
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()
        self.look()

    @work(group="look", exclusive=True)
    async def look(self) -> None:
        """Read the trail and draw it."""
        try:
            records = await self._load()
        except LocalAgentError as error:
            failure = Content.styled(str(error), "$text-error")
            self._view.show(lambda width: wrap(failure, width))
            return
        if records:
            count = f" {self._glyphs.dot} {len(records)}"
            self._heading.update(Content.assemble(("Errors", "bold"), (count, "$text-muted")))
        self._view.show(lambda width: self._lines(records, width))

    def action_close(self) -> None:
        self.dismiss(None)

    def _lines(self, records: list[ErrorRecord], width: int) -> list[Line]:
        if not records:
            return wrap(Content.styled("Nothing went wrong in this conversation.", "$text-muted"), width)
        lines: list[Line] = []
        for record in reversed(records):
            lines += [*self._record(record, width), BLANK]
        return lines

    def _record(self, record: ErrorRecord, width: int) -> list[Line]:
        dot = f" {self._glyphs.dot} "
        facts = [clock(record.created_at), record.kind, record.model, record.provider]
        about = dot.join(one_line(fact) for fact in facts if fact)
        sign = Content.styled(f"{self._glyphs.error} ", "$text-error")
        room, margin = width - sign.cell_length, Content("  ")
        lines = indented(wrap(Content.styled(one_line(record.line), "$text-error"), room), sign, margin)
        lines += indented(wrap(Content.styled(about, "$text-muted"), room), margin)
        if record.question:
            lines += indented(wrap(Content(one_line(record.question)), room), margin)
        if record.raw:
            bar = Content.styled(f"  {self._glyphs.thin_bar} ", "$text-muted")
            raw = Content.styled(sanitise(record.raw).rstrip(), "$text-muted")
            lines += indented(wrap(raw, width - bar.cell_length), bar)
        return lines
