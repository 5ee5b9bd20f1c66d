"""Asked when another process holds the session that was to be opened."""

from __future__ import annotations

from enum import StrEnum

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, Static

from local_agent.domain.sessions import Holder
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import clock
from local_agent.tui.screens.dialog import Choice, Dialog
from local_agent.tui.widgets.line_input import LineInput

TYPED_DECISION = "take over"


class HeldAnswer(StrEnum):
    """How to open a session that is open elsewhere."""

    CANCEL = "cancel"
    READ_ONLY = "read-only"
    FORK = "fork"
    TAKE_OVER = "take over"


class HeldDialog(Dialog[HeldAnswer]):
    """Cancel by default; taking over must be typed out."""

    def __init__(self, handle: str, holder: Holder, *, glyphs: Glyphs = UNICODE) -> None:
        where = f" on {holder.terminal}" if holder.terminal else ""
        machine = f" of {holder.host}" if holder.host else ""
        super().__init__(
            f"{handle} is open elsewhere.",
            [f"Process {holder.pid}{where}{machine} has held it since {clock(holder.since)}."],
            [
                Choice(HeldAnswer.CANCEL, "leave it there"),
                Choice(HeldAnswer.READ_ONLY, "read along", "r"),
                Choice(HeldAnswer.FORK, "fork it", "f"),
                Choice(HeldAnswer.TAKE_OVER, "take it over", "t"),
            ],
            glyphs=glyphs,
        )

    def compose_more(self) -> ComposeResult:
        yield Static(id="reply", markup=False)
        yield LineInput(id="decision", compact=True)

    def answer(self, answer: HeldAnswer) -> None:
        if answer is not HeldAnswer.TAKE_OVER:
            self.dismiss(answer)
            return
        self._say(f"The other process stops at its next write and can only read on. Type {TYPED_DECISION!r}:")
        self.add_class("-deciding")
        self.query_one("#decision", Input).focus()

    @on(Input.Submitted, "#decision")
    def _decided(self, event: Input.Submitted) -> None:
        event.stop()
        if one_line(event.value).lower() == TYPED_DECISION:
            self.dismiss(HeldAnswer.TAKE_OVER)
        else:
            event.input.clear()
            self._say(f"Nothing was changed. Type {TYPED_DECISION!r}, or press esc.")

    def _say(self, text: str) -> None:
        self.query_one("#reply", Static).update(Content.styled(text, "$text-warning"))
