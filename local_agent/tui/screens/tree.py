"""A session's turns as a tree: where the head is, what is on other branches, and the way there."""

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

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import Checkpoint
from local_agent.domain.entries import Kind, Slice, TurnStatus
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import one_line
from local_agent.domain.tree_layout import TreeRow, branch_count, labels_by_node, layout, marks_on_path
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import branches_words, counted, since
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import Row, RowList
from local_agent.tui.widgets.session_preview import SessionPreview
from local_agent.tui.widgets.tree_row import DrawnTreeRow, words_of_node

PREVIEW_SECONDS = 0.08
PREVIEW_ENTRIES = 12
PREVIEW_FROM_WIDTH = 90
CHECKPOINTS_SHOWN = 2_000
"""The newest ones; of older ones the list of checkpoints tells."""
BATCH = 1_000
"""How many rows are entered at once: keys get their turn in between."""


class TreeSource(Protocol):
    """Where the tree comes from."""

    async def tree(self) -> Sequence[TreeNode]:
        """All nodes, oldest first."""

    async def head(self) -> int | None:
        """The last entry of the path, whoever wrote it."""

    async def checkpoints(self, before: int | None, limit: int) -> Sequence[Checkpoint]:
        """The newest ones."""

    async def leading_to(self, entry_id: int, count: int) -> Slice:
        """The last messages up to an entry."""


class TreeWish(Enum):
    """What is to be done with the node that was chosen."""

    SWITCH = auto()
    FORK = auto()
    EDIT = auto()


@dataclass(frozen=True, slots=True)
class TreeChoice:
    """What the screen gives."""

    wish: TreeWish
    node: TreeNode


class TreeScreen(Screen[TreeChoice | None]):
    """Opens where the head is. What is chosen is carried out by who opened it."""

    CSS_PATH = "tree.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "give('SWITCH')", "go there", id="tree.switch"),
        Binding("f", "give('FORK')", "fork", id="tree.fork"),
        Binding("e", "give('EDIT')", "edit and ask again", id="tree.edit"),
        Binding("escape,q", "close", "close", id="tree.close"),
        Binding("h", "home", "where you are", id="tree.home"),
        Binding("left", "above", "To what it follows", id="tree.above", show=False),
        Binding("up,k", "move('cursor_up')", "Up", id="tree.up", show=False),
        Binding("down,j", "move('cursor_down')", "Down", id="tree.down", show=False),
        Binding("pageup", "move('page_up')", "Page up", id="tree.page_up", show=False),
        Binding("pagedown", "move('page_down')", "Page down", id="tree.page_down", show=False),
        Binding("home", "move('first')", "First", id="tree.first", show=False),
        Binding("end", "move('last')", "Last", id="tree.last", show=False),
    ]

    def __init__(self, source: TreeSource, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self.row_list = RowList(glyphs=glyphs)
        self.rows: Sequence[TreeRow] = ()
        self._preview = SessionPreview(glyphs)
        self._heading = Static(Content.styled("Tree", "bold"), id="heading", markup=False)
        self._line = Static(id="line", markup=False)
        self._source = source
        self._glyphs = glyphs

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
        self._chosen()
        self.call_after_refresh(self.row_list.scroll_to_highlight)

    @property
    def selected(self) -> TreeRow | None:
        """The one the pointer is at."""
        index = self.row_list.highlighted
        return self.rows[index] if index is not None and index < len(self.rows) else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        row = self.selected
        if action == "give":
            return row is not None and (parameters != (TreeWish.EDIT.name,) or row.node.kind is Kind.QUESTION)
        return row is not None if action in ("home", "above") else True

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_give(TreeWish.SWITCH.name)

    def action_give(self, wish: str) -> None:
        if (row := self.selected) is not None:
            self.dismiss(TreeChoice(TreeWish[wish], row.node))

    def action_close(self) -> None:
        self.dismiss(None)

    def action_move(self, how: str) -> None:
        getattr(self.row_list, f"action_{how}")()

    def action_home(self) -> None:
        """To the row where the head is."""
        self._point_at(lambda row: row.at_head)

    def action_above(self) -> None:
        """To the turn that this one follows, however many branches stand between."""
        if (row := self.selected) is not None:
            self._point_at(lambda other: other.node.entry_id == row.node.parent)

    @on(OptionList.OptionHighlighted)
    def _chosen(self) -> None:
        self.refresh_bindings()
        if (row := self.selected) is None:
            return
        self._say(_would(row))
        if not self.has_class("-no-preview"):
            self._show_preview(row.node)

    @work(group="rows", exclusive=True)
    async def _load(self) -> None:
        source = self._source
        try:
            head = await source.head()
            nodes = await source.tree()
            checkpoints = await source.checkpoints(None, CHECKPOINTS_SHOWN)
        except LocalAgentError as error:
            self._say(str(error), "$text-error")
            return
        rows = await asyncio.to_thread(layout, nodes, head)
        marks, labels = marks_on_path(rows), labels_by_node(nodes, checkpoints)
        self._show_heading(rows)
        if not rows:
            self._say("There is no turn yet: ask something first.")
            return
        for start in range(0, len(rows), BATCH):
            self.row_list.add_options(
                Option(Row(DrawnTreeRow(row, self._glyphs, mark=marks.get(key), labels=labels.get(key, ()))))
                for row in rows[start : start + BATCH]
                for key in (row.node.entry_id,)
            )
            await asyncio.sleep(0)
        self.rows = rows
        self.action_home()
        if self.row_list.highlighted is None:
            self.row_list.highlighted = len(rows) - 1

    @work(group="preview", exclusive=True)
    async def _show_preview(self, node: TreeNode) -> None:
        # Waiting here is the debounce: the next choice cancels this worker.
        await asyncio.sleep(PREVIEW_SECONDS)
        about = Content.styled(f" {self._glyphs.dot} ".join(_facts(node)), "$text-muted")
        self._preview.show_head(Content.assemble((words_of_node(node), "bold"), "\n", about))
        try:
            self._preview.show_tail(await self._source.leading_to(node.last, PREVIEW_ENTRIES))
        except LocalAgentError as error:
            self._say(str(error), "$text-error")

    def _point_at(self, wanted: Callable[[TreeRow], bool]) -> None:
        place = next((place for place, row in enumerate(self.rows) if wanted(row)), None)
        if place is not None:
            self.row_list.highlighted = place

    def _show_heading(self, rows: Sequence[TreeRow]) -> None:
        dot = f" {self._glyphs.dot} "
        turns = sum(row.node.status is not None for row in rows)
        parts = [counted(turns, "turn"), branches_words(branch_count(rows))] if rows else []
        self._heading.update(
            Content.assemble(("Tree", "bold"), ("".join(dot + part for part in parts), "$text-muted"))
        )

    def _say(self, text: str, style: str = "$text-muted") -> None:
        self._line.update(Content.styled(one_line(text), style))


def _would(row: TreeRow) -> str:
    """What Enter does there."""
    if row.at_head:
        return "You are here."
    if row.ends:
        return "Enter goes to the end of this branch."
    return "Enter goes behind this turn; the rest stays in the tree."


def _facts(node: TreeNode) -> list[str]:
    facts = [since(node.created_at)]
    match node.status:
        case TurnStatus.FAILED | TurnStatus.INTERRUPTED:
            facts.append(str(node.status))
        case TurnStatus.RUNNING:
            facts.append("not finished")
    if node.inherited:
        facts.append("from before the fork")
    return facts
