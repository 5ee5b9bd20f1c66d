"""A question of the model's to the person: options by number, or words of their own."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.getters import query_one
from textual.widgets import Static

from local_agent.domain.approvals import NO, Answer, Choice
from local_agent.domain.events import QuestionAsked
from local_agent.domain.text import one_line, sanitise
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.tools.waiting import WaitingPanel
from local_agent.tui.widgets.line_input import LineInput

NUMBERED = 20
"""Options that can be answered with; further ones are not shown."""
TEXT_LIMIT = 4_000


class QuestionPanel(WaitingPanel):
    """Enter gives what is typed, or the option whose number that is; Esc gives no answer."""

    DEFAULT_CSS = """
    QuestionPanel {
        & > #question-body { height: auto; max-height: 40vh; scrollbar-size-vertical: 1; }
        & Static { height: auto; }
        & > LineInput { height: auto; border: none; padding: 0; background: transparent; }
        & > #question-keys { height: auto; color: $text-muted; text-wrap: nowrap; text-overflow: ellipsis; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "refuse", "No answer", id="question_panel.no", show=False),
        Binding("ctrl+c", "refuse", "No answer", id="question_panel.stop", show=False, priority=True),
        Binding("pageup", "page(-1)", "Page up", id="question_panel.page_up", show=False),
        Binding("pagedown", "page(1)", "Page down", id="question_panel.page_down", show=False),
    ]

    line = query_one(LineInput)

    def __init__(self, question: QuestionAsked, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(question.id)
        self.question = question
        self._glyphs = glyphs
        self._options = question.options[:NUMBERED]

    def compose(self) -> ComposeResult:
        asked = sanitise(self.question.text[:TEXT_LIMIT]).strip("\n")
        sign = (f"{self._glyphs.waiting} ", "bold $text-warning")
        with VerticalScroll(id="question-body", can_focus=False):
            yield Static(Content.assemble(sign, (asked, "$text")), markup=False)
            for number, option in enumerate(self._options, 1):
                words = (one_line(option[:TEXT_LIMIT], 400), "$text")
                yield Static(Content.assemble((f"  {number} ", "bold $text-primary"), words), markup=False)
        yield LineInput(placeholder="your answer", compact=True)
        what = "enter your words or a number" if self._options else "enter answer"
        yield Static(f"{what} {self._glyphs.dot} esc no answer", id="question-keys", markup=False)

    def focus_inside(self) -> None:
        self.line.focus()

    def action_refuse(self) -> None:
        self.give(NO)

    def action_page(self, step: int) -> None:
        body = self.query_one("#question-body", VerticalScroll)
        body.scroll_relative(y=step * max(body.size.height - 1, 1), animate=False, immediate=True)

    @on(LineInput.Submitted)
    def _submitted(self, event: LineInput.Submitted) -> None:
        event.stop()
        words = event.value.strip()
        if words.isdecimal() and len(words) < 3 and 0 < int(words) <= len(self._options):
            words = self._options[int(words) - 1]
        self.give(Answer(Choice.ONCE, text=words) if words else NO)
