"""What runs here without a question, and what never does: answers that are remembered, and kept rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Protocol

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static
from textual.widgets.option_list import Option

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line
from local_agent.policy.rules import Rule
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import ago
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit

_STATE = 9
_NOTHING = "Nothing is remembered yet: every effect is asked about, as the mode says."


class Rules(Protocol):
    """The rules of one conversation."""

    @property
    def problem(self) -> str:
        """Why it is not known what is forbidden here; empty when all is."""

    def rules(self) -> Sequence[Rule]:
        """What is remembered: of this session first, then what is kept."""

    def revoke(self, rule: Rule) -> None:
        """Forget a rule. Raises ``LocalAgentError``."""

    def deny(self, rule: Rule) -> Rule:
        """Forbid what a rule allows. Raises ``LocalAgentError``."""


class PermissionsScreen(Screen[None]):
    """Each rule on a line; what is forgotten is asked about again."""

    CSS_PATH = "changes.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f8,delete", "forget", "forget it", id="permissions.forget"),
        Binding("f4", "forbid", "forbid it", id="permissions.forbid"),
        Binding("escape,q", "close", "close", id="permissions.close"),
        Binding("up,k", "move('cursor_up')", "Up", id="permissions.up", show=False),
        Binding("down,j", "move('cursor_down')", "Down", id="permissions.down", show=False),
        Binding("pageup", "move('page_up')", "Page up", id="permissions.page_up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", id="permissions.page_down", show=False),
    ]

    def __init__(self, rules: Rules, mode_line: str, *, glyphs: Glyphs = UNICODE) -> None:
        """``mode_line`` says what the mode of now means here."""
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Permissions", "bold"), id="heading", markup=False)
        self._line = Static(Content.styled(mode_line, "$text-muted"), id="line", markup=False)
        self._rules = rules
        self._glyphs = glyphs
        self._shown: Sequence[Rule] = ()

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.row_list
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._look()

    @property
    def selected(self) -> Rule | None:
        """The rule that the pointer is at."""
        place = self.row_list.highlighted
        return self._shown[place] if place is not None and place < len(self._shown) else None

    @work(thread=True, group="rules", exclusive=True)
    def _look(self, change: Callable[[], object] | None = None) -> None:
        """Change something, and read again; the file may lie on a slow disk."""
        said = ""
        try:
            if change is not None:
                change()
        except LocalAgentError as error:
            said = str(error)
        found = self._rules.rules()
        self.app.call_from_thread(self._show, found, said or self._rules.problem)

    def _show(self, found: Sequence[Rule], problem: str) -> None:
        place = self.row_list.highlighted or 0
        self._shown = found
        if found:
            self.row_list.set_options(self._option(rule) for rule in found)
            self.row_list.highlighted = min(place, len(found) - 1)
        else:
            self.row_list.set_options([Option(Content.styled(f"  {_NOTHING}", "$text-muted"), disabled=True)])
        if problem:
            self._line.update(Content.styled(one_line(problem), "$text-warning"))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        rule = self.selected
        if action == "forbid":
            return rule is not None and rule.allows
        return rule is not None if action == "forget" else True

    def action_forget(self) -> None:
        if (rule := self.selected) is not None:
            self._look(lambda: self._rules.revoke(rule))

    def action_forbid(self) -> None:
        if (rule := self.selected) is not None:
            self._look(lambda: self._rules.deny(rule))

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def _option(self, rule: Rule) -> Option:
        state = ("allowed", "$text-success") if rule.allows else ("never", "$text-error")
        lasts = "kept" if rule.kept else "this session"
        since = f"{lasts}, {ago(rule.since)}" if rule.since else lasts

        def draw(width: int) -> Content:
            aside = Content.styled(f"  {since}" if width > 50 else "", "$text-muted")
            room = width - _STATE - aside.cell_length
            return Content.assemble(
                fit(Content.styled(*state), _STATE), fit(Content(one_line(rule.covers)), room), aside
            )

        return Option(Row(draw))
