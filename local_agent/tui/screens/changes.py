"""The files that this session changed: each with what became of it, and what was done to it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.changed import ChangedFile, changed_files
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import Execution
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.tools.changes import about, growth, unseen
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit, fit_right

STYLES = {"created": "$text-success", "removed": "$text-error", "changed": "$text-warning"}
_STATE = 11
_COUNTS = 12


class ChangesScreen(Screen[None]):
    """Enter opens what was done to a file; ``compare`` says it where no diff was kept."""

    CSS_PATH = "changes.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "show the diff", id="changes.open"),
        Binding("escape,q", "close", "close", id="changes.close"),
        Binding("up,k", "move('cursor_up')", "Up", id="changes.up", show=False),
        Binding("down,j", "move('cursor_down')", "Down", id="changes.down", show=False),
        Binding("pageup", "move('page_up')", "Page up", id="changes.page_up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", id="changes.page_down", show=False),
    ]

    def __init__(
        self,
        load: Callable[[], Awaitable[Sequence[Execution]]],
        compare: Callable[[ChangedFile], Awaitable[str]],
        *,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._heading = Static(Content.styled("Changed files", "bold"), id="heading", markup=False)
        self._load = load
        self._compare = compare
        self._glyphs = glyphs
        self._files: list[ChangedFile] = []

    def compose(self) -> ComposeResult:
        yield self._heading
        yield self.row_list
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._look()

    @work(group="look", exclusive=True)
    async def _look(self) -> None:
        try:
            executions = await self._load()
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._files = changed_files(executions)
        counts = [counted(len(self._files), "file") if self._files else "", *unseen(executions)]
        asides = "".join(f" {self._glyphs.dot} {words}" for words in counts if words)
        self._heading.update(Content.assemble(("Changed files", "bold"), (asides, "$text-muted")))
        if not self._files:
            self._say("Nothing of this session has changed a file that is not ignored.", "$text-muted")
            return
        self.row_list.set_options(self._option(file) for file in self._files)
        self.row_list.highlighted = 0
        self.refresh_bindings()

    @on(OptionList.OptionSelected)
    def action_open(self) -> None:
        place = self.row_list.highlighted
        if place is not None and place < len(self._files):
            self._show(self._files[place])

    @work(group="show", exclusive=True)
    async def _show(self, file: ChangedFile) -> None:
        from local_agent.tui.screens.viewer import ViewerScreen

        # A command's changes have no diff of their own: what was there before is compared with what is.
        whole = len(file.diffs) == file.times
        text = "\n".join(file.diffs) if whole else await self._compare(file)
        parts = [about(file), text]
        shown = "\n\n".join(part for part in parts if part)
        self.app.push_screen(ViewerScreen(one_line(file.path, 200), shown, raw=True, glyphs=self._glyphs))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return bool(self._files) if action == "open" else True

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def _say(self, text: str, style: str) -> None:
        self.row_list.set_options([Option(Content.styled(f"  {text}", style), disabled=True)])

    def _option(self, file: ChangedFile) -> Option:
        added, removed = _counts(file)
        times = counted(file.times, "change") if file.times > 1 else ""

        def draw(width: int) -> Content:
            state = fit(Content.styled(file.kind, STYLES.get(file.kind, "$text-muted")), _STATE)
            counts = Content.assemble((f"+{added}", "$text-success"), " ", (f"-{removed}", "$text-error"))
            if not file.diffs and (grown := growth(file)):
                counts = Content.styled(grown, "$text-muted")
            aside = Content.styled(f"  {times}" if times and width > 60 else "", "$text-muted")
            room = width - _STATE - _COUNTS - aside.cell_length
            return Content.assemble(
                state, fit(Content(one_line(file.path)), room), fit_right(counts, _COUNTS), aside
            )

        return Option(Row(draw))


def _counts(file: ChangedFile) -> tuple[int, int]:
    """How many lines its changes added and removed together."""
    lines = [line for diff in file.diffs for line in diff.splitlines()]
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    return added, sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
