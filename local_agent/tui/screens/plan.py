"""The form behind ``/plan``: what is wanted, where, and what matters; asked for in PLAN mode."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.line_input import LineInput
from local_agent.tui.widgets.panel import Panel

_ASKED = (
    "Make a plan for this. Look at what you need to know first; change nothing. "
    "Then give the steps in order, each with the files that it touches and how it is checked."
)


class PlanWish(NamedTuple):
    """What a plan is wanted for; only the task must be said."""

    task: str
    scope: str = ""
    focus: str = ""

    @property
    def prompt(self) -> str:
        """What the model is asked. It begins with the task, which becomes the session's title."""
        parts = [self.task]
        if self.scope:
            parts.append(f"Scope: {self.scope}")
        if self.focus:
            parts.append(f"Focus: {self.focus}")
        return "\n\n".join((*parts, _ASKED))


class PlanForm(ModalScreen[PlanWish | None]):
    """Three lines in the place of the composer; None when it was closed."""

    CSS_PATH = "plan.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "ask for the plan", id="plan.send", priority=True),
        Binding("tab,down", "step(1)", "next", id="plan.next", priority=True),
        Binding("shift+tab,up", "step(-1)", "Back", id="plan.back", show=False, priority=True),
        Binding("escape", "close", "close", id="plan.close"),
    ]

    def __init__(self, task: str = "", *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._glyphs = glyphs
        self._lines = (
            LineInput(task, placeholder="what is wanted", id="task", compact=True),
            LineInput(placeholder="where: files, folders, limits", id="scope", compact=True),
            LineInput(placeholder="what matters most, what to leave alone", id="focus", compact=True),
        )
        self._missing = Static("", id="missing", markup=False)

    def compose(self) -> ComposeResult:
        with Panel():
            yield Static(Content.styled("Plan", "bold"), id="heading", markup=False)
            for label, line in zip(("Task", "Scope", "Focus"), self._lines, strict=True):
                yield Static(Content.styled(label, "$text-muted"), markup=False)
                yield line
            yield self._missing
            yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._lines[1 if self._lines[0].value.strip() else 0].focus()

    @on(Input.Changed)
    def _changed(self) -> None:
        self._missing.update("")

    def action_send(self) -> None:
        task, scope, focus = (line.value.strip() for line in self._lines)
        if task:
            self.dismiss(PlanWish(task, scope, focus))
        else:
            self._missing.update(Content.styled("Say what is wanted first.", "$text-warning"))
            self._lines[0].focus()

    def action_step(self, step: int) -> None:
        place = next((number for number, line in enumerate(self._lines) if line.has_focus), 0)
        self._lines[(place + step) % len(self._lines)].focus()

    def action_close(self) -> None:
        self.dismiss(None)
