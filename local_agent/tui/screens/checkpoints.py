"""The checkpoints of a session: what was said up to each, what of the files changed since, the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar, Protocol

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from local_agent.domain.checkpoints import Checkpoint, CheckpointKind
from local_agent.domain.entries import Slice
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.restoring import FilePlan, PlannedPath
from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import ago, counted, since
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList, fit, fit_right
from local_agent.tui.widgets.session_preview import SessionPreview

PAGE = 50
PREVIEW_SECONDS = 0.08
PREVIEW_ENTRIES = 12
PREVIEW_FROM_WIDTH = 76

_LEAST_LABEL = 14
_COLUMNS = (("when", 11), ("messages", 14), ("files", 12))
"""From the right; the narrower, the fewer from the first on."""
_LEAVING_ORDER = ("files", "when", "messages")


class CheckpointSource(Protocol):
    """Where the list comes from."""

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        """One page, newest first; ``before`` is the last row's id."""

    async def files_since(self, checkpoint: Checkpoint) -> FilePlan:
        """What putting the files back to it would do."""

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        """The last messages up to an entry."""

    async def compare(self, paths: Sequence[PlannedPath]) -> str:
        """What became of paths since then, as a diff."""


class Wanted(Enum):
    """What is to be done with the checkpoint that was chosen."""

    RESTORE = auto()
    FORK = auto()


@dataclass(frozen=True, slots=True)
class CheckpointWish:
    """What the screen gives."""

    wanted: Wanted
    checkpoint: Checkpoint


class CheckpointsScreen(Screen[CheckpointWish | None]):
    """Newest first, in pages. Files are compared for the rows in view alone, one row after another."""

    CSS_PATH = "checkpoints.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "restore", "restore", id="checkpoints.restore"),
        Binding("d", "diff", "diff since", id="checkpoints.diff"),
        Binding("f", "fork", "fork", id="checkpoints.fork"),
        Binding("escape,q", "close", "close", id="checkpoints.close"),
        Binding("up,k", "move('cursor_up')", "Up", id="checkpoints.up", show=False),
        Binding("down,j", "move('cursor_down')", "Down", id="checkpoints.down", show=False),
        Binding("pageup", "move('page_up')", "Page up", id="checkpoints.page_up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", id="checkpoints.page_down", show=False),
    ]

    def __init__(self, source: CheckpointSource, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self._preview = SessionPreview(glyphs)
        self._heading = Static(Content.styled("Checkpoints", "bold"), id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._line.display = False
        self._source = source
        self._glyphs = glyphs
        self._loaded: list[Checkpoint] = []
        self._plans: dict[int, FilePlan] = {}
        """By the ledger's number: checkpoints between which nothing was changed share one."""
        self._complete = False

    def compose(self) -> ComposeResult:
        yield self._heading
        with Horizontal():
            yield self.row_list
            yield self._preview
        yield self._line
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self._load()

    def on_resize(self) -> None:
        self.set_class(self.size.width < PREVIEW_FROM_WIDTH, "-no-preview")
        self._look_at_chosen()

    @property
    def selected(self) -> Checkpoint | None:
        """The one the pointer is at."""
        index = self.row_list.highlighted
        return self._loaded[index] if index is not None and index < len(self._loaded) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return self.selected is not None if action in ("restore", "diff", "fork") else True

    @on(OptionList.OptionSelected)
    def action_restore(self) -> None:
        self._give(Wanted.RESTORE)

    def action_fork(self) -> None:
        self._give(Wanted.FORK)

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    @work(group="diff", exclusive=True)
    async def action_diff(self) -> None:
        """What became of the files since the chosen one."""
        from local_agent.tui.screens.viewer import ViewerScreen

        checkpoint = self.selected
        if checkpoint is None:
            return
        try:
            paths = (await self._source.files_since(checkpoint)).different
            diff = await self._source.compare(paths)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        if not paths:
            self._say(f"No file has changed since checkpoint {checkpoint.id}.")
            return
        title = f"{counted(len(paths), 'file')} since checkpoint {checkpoint.id}"
        self.app.push_screen(ViewerScreen(title, diff, raw=True, glyphs=self._glyphs))

    @on(RowList.NearEnd)
    def _near_end(self) -> None:
        if self._loaded and not self._complete:
            self._load()
        self._count_files()

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        self._say("")
        self.refresh_bindings()
        self._look_at_chosen()

    def _look_at_chosen(self) -> None:
        self._count_files()
        if (checkpoint := self.selected) is not None and not self.has_class("-no-preview"):
            self._show_preview(checkpoint)

    @work(group="rows", exclusive=True)
    async def _load(self) -> None:
        before = self._loaded[-1].id if self._loaded else None
        limit = max(PAGE, self.app.size.height)
        try:
            page = await self._source.checkpoints(before, limit)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        self._complete = len(page) < limit
        first = not self._loaded
        self._loaded += page
        if first:
            self.row_list.set_options([self._option(each) for each in page] or [_nothing()])
            self.row_list.highlighted = 0 if page else None
        else:
            self.row_list.add_options(self._option(each) for each in page)
        self.refresh_bindings()

    @work(group="files", exclusive=True)
    async def _count_files(self) -> None:
        """Find out for the rows in view what changed since."""
        rows = self.row_list
        await asyncio.sleep(PREVIEW_SECONDS)  # the next choice begins anew
        top = int(rows.scroll_y)
        chosen = [rows.highlighted] if rows.highlighted is not None else []
        for index in (*chosen, *range(top, top + rows.size.height)):
            if index >= len(self._loaded):
                break
            checkpoint = self._loaded[index]
            if checkpoint.ledger_number in self._plans:
                continue
            try:
                self._plans[checkpoint.ledger_number] = await self._source.files_since(checkpoint)
            except LocalAgentError as error:
                self._say(str(error), "$text-error")
                return
            self._draw_again(checkpoint.ledger_number)

    def _draw_again(self, ledger_number: int) -> None:
        for index, checkpoint in enumerate(self._loaded):
            if checkpoint.ledger_number == ledger_number:
                self.row_list.replace_option_prompt_at_index(index, self._row(checkpoint))
        chosen = self.selected
        if chosen is not None and chosen.ledger_number == ledger_number:
            self._show_head(chosen)

    @work(group="preview", exclusive=True)
    async def _show_preview(self, checkpoint: Checkpoint) -> None:
        # Waiting here is the debounce: the next choice cancels this worker.
        await asyncio.sleep(PREVIEW_SECONDS)
        self._show_head(checkpoint)
        if checkpoint.entry_id is None:
            self._preview.show_tail(Slice((), {}, {}, more=False))
            return
        try:
            self._preview.show_tail(await self._source.leading_to(checkpoint.entry_id, PREVIEW_ENTRIES))
        except LocalAgentError as error:
            self._say(str(error), "$text-error")

    def _show_head(self, checkpoint: Checkpoint) -> None:
        facts = [name_of(checkpoint), since(checkpoint.created_at)]
        plan = self._plans.get(checkpoint.ledger_number)
        if plan is not None:
            facts.append(files_words(plan))
        about = Content.styled(f" {self._glyphs.dot} ".join(facts[1:]), "$text-muted")
        self._preview.show_head(Content.assemble((facts[0], "bold"), "\n", about))

    def _give(self, wanted: Wanted) -> None:
        if (checkpoint := self.selected) is not None:
            self.dismiss(CheckpointWish(wanted, checkpoint))

    def _say(self, text: str, style: str = "$text-muted") -> None:
        if text or self._line.display:
            self._line.update(Content.styled(one_line(text), style))
            self._line.display = bool(text)

    def _option(self, checkpoint: Checkpoint) -> Option:
        return Option(self._row(checkpoint))

    def _row(self, checkpoint: Checkpoint) -> Row:
        return Row(_drawn(checkpoint, self._plans.get(checkpoint.ledger_number), self._glyphs))


def name_of(checkpoint: Checkpoint) -> str:
    """Its label; without one, when the program made it."""
    unnamed = "no label" if checkpoint.kind is CheckpointKind.MANUAL else str(checkpoint.kind)
    return one_line(checkpoint.label) or unnamed


def files_words(plan: FilePlan) -> str:
    """``3 files changed``"""
    count = len(plan.different)
    return f"{counted(count, 'file')} changed" if count else "no file changed"


def _drawn(checkpoint: Checkpoint, plan: FilePlan | None, glyphs: Glyphs) -> Callable[[int], Content]:
    number = str(checkpoint.id)
    changed = len(plan.different) if plan is not None else None
    files = glyphs.ellipsis if changed is None else counted(changed, "file") if changed else ""
    texts = {
        "when": ago(checkpoint.created_at),
        "messages": counted(checkpoint.message_count, "message"),
        "files": files,
    }
    styles = {"files": "$text-warning"}
    named = bool(checkpoint.label) and checkpoint.kind is CheckpointKind.MANUAL
    name = Content.styled(name_of(checkpoint), "" if named else "$text-muted")

    def draw(width: int) -> Content:
        id_width = max(4, len(number))
        left = width - id_width - 2
        shown = set()
        for column in _LEAVING_ORDER:
            if left - dict(_COLUMNS)[column] < _LEAST_LABEL:
                break
            shown.add(column)
            left -= dict(_COLUMNS)[column]
        columns = [
            fit_right(Content.styled(texts[column], styles.get(column, "$text-muted")), cells)
            for column, cells in _COLUMNS
            if column in shown
        ]
        shown_number = fit_right(Content.styled(number, "$text-primary"), id_width)
        return Content.assemble(shown_number, "  ", fit(name, max(left, 1)), *columns)

    return draw


def _nothing() -> Option:
    text = "  No checkpoints yet: /checkpoint LABEL makes one."
    return Option(Content.styled(text, "$text-muted"), disabled=True)
