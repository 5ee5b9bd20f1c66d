"""One node of a session's tree as a row: where it branches off, what was asked, what is marked there."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from local_agent.domain.branches import TreeNode
from local_agent.domain.entries import Kind, TurnStatus
from local_agent.domain.marks import Mark, mark_said
from local_agent.domain.own_command import as_typed
from local_agent.domain.text import one_line
from local_agent.domain.tree_layout import TreeRow
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.quantities import ago
from local_agent.tui.widgets.row_list import fit, fit_right

LEAST_WORDS = 14
WHEN = 12
WHEN_FROM_WIDTH = 38
LABEL_AT_MOST = 30
WORDS_AT_MOST = 300
MARK_WORDS = {
    Mark.PIN: "from here on always kept",
    Mark.DROP: "from here on left out of requests",
    Mark.FREE: "from here on neither kept nor left out",
}


class DrawnTreeRow:
    """The rows in view are drawn for the width there is: the narrower, the fewer columns of branches."""

    def __init__(
        self, row: TreeRow, glyphs: Glyphs, *, mark: Mark | None = None, labels: Sequence[str] = ()
    ) -> None:
        self._row = row
        self._glyphs = glyphs
        self._mark = mark
        self._labels = labels
        """Of the checkpoints at its end."""

    def __call__(self, width: int) -> Content:
        row, glyphs = self._row, self._glyphs
        when = Content("")
        if width >= WHEN_FROM_WIDTH:
            when = fit_right(Content.styled(ago(row.node.created_at), "$text-muted"), WHEN)
        left = width - when.cell_length
        ahead = Content.assemble(self._lines(left), self._sign())
        labels = Content("")
        if self._labels and left - ahead.cell_length - LEAST_WORDS > 4:
            text = f"  {glyphs.place} {', '.join(self._labels)}"
            room = min(LABEL_AT_MOST, left - ahead.cell_length - LEAST_WORDS)
            labels = Content.styled(text, "$text-accent").truncate(room, ellipsis=True)
        words = Content.styled(words_of_node(row.node), self._style())
        words = fit(words, max(left - ahead.cell_length - labels.cell_length, 1))
        return Content.assemble(ahead, words, labels, when)

    def _lines(self, width: int) -> Content:
        """The columns of the branches that it lies between; of very many only the last ones."""
        depth = self._row.depth
        if not depth:
            return Content("")
        shown = max(1, min(depth, (width - LEAST_WORDS) // 4))
        cut = f"{self._glyphs.ellipsis} " if shown < depth else ""
        last = self._glyphs.branch if self._row.opens else self._glyphs.side_bar
        return Content.styled(f"{cut}{f'{self._glyphs.side_bar} ' * (shown - 1)}{last} ", "$text-muted")

    def _sign(self) -> Content:
        row, glyphs = self._row, self._glyphs
        if row.at_head:
            return Content.styled(f"{glyphs.bullet} ", "bold $text-primary")
        if row.node.status is TurnStatus.FAILED:
            return Content.styled(f"{glyphs.error} ", "$text-error")
        if row.node.status in (TurnStatus.INTERRUPTED, TurnStatus.RUNNING):
            return Content.styled(f"{glyphs.stopped} ", "$text-warning")
        if self._mark is Mark.PIN:
            return Content.styled(f"{glyphs.pinned} ", "$text-primary")
        if self._mark is Mark.DROP:
            return Content.styled(f"{glyphs.dropped} ", "$text-muted")
        return Content("  ")

    def _style(self) -> str:
        quiet = self._row.node.kind in (Kind.SUMMARY, Kind.MARKER) or self._mark is Mark.DROP
        if not self._row.on_path or quiet:
            return "$text-muted"
        return "bold" if self._row.at_head else "$text"


def words_of_node(node: TreeNode) -> str:
    """What it begins with, one line."""
    said = one_line(node.text, WORDS_AT_MOST)
    match node.kind:
        case Kind.COMMAND:
            return one_line(as_typed(node.text), WORDS_AT_MOST)
        case Kind.SUMMARY:
            return f"summary: {said}" if said else "summary"
        case Kind.MARKER:
            mark = mark_said(node.text)
            return f"({MARK_WORDS[mark[0]] if mark is not None else said or 'a mark'})"
        case _:
            return said or "(nothing that can be read)"
