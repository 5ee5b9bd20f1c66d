"""Tables: columns that share the width, cells that wrap, and records where columns don't fit."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from markdown_it.tree import SyntaxTreeNode
from textual.content import Content

from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import BLANK, Line, TableRow, indented, wrap
from local_agent.tui.markdown.inline import inline

GAP = 2
NARROWEST = 6
"""Cells of a column below which a table is set as records."""

_ALIGNMENTS = {"text-align:right": "right", "text-align:center": "center"}
_DASHES = {"left": "---", "right": "---:", "center": ":---:"}
_BAR = "\\|"


def table(node: SyntaxTreeNode, width: int, glyphs: Glyphs) -> list[Line]:
    """Typeset a table node."""
    rows = [[_cell(cell) for cell in row.children] for part in node.children for row in part.children]
    if not rows or not rows[0]:
        return []
    alignments = [_ALIGNMENTS.get(str(cell.attrs.get("style", "")), "left") for cell in _head(node).children]
    columns = len(rows[0])
    wanted = [max(_widest(row[i]) for row in rows if i < len(row)) for i in range(columns)]
    widths = _share(wanted, width - GAP * (columns - 1))
    if min(widths) < min(NARROWEST, *(max(size, 1) for size in wanted)):
        return _records(rows, width)
    sources = [_source(row) for part in node.children for row in part.children]
    lines = _row([cell.stylize("bold") for cell in rows[0]], widths, alignments, sources[0])
    rule = glyphs.rule * (sum(widths) + GAP * (columns - 1))
    dashes = TableRow(f"|{'|'.join(_DASHES[alignment] for alignment in alignments)}|")
    lines.append(Line(Content.styled(rule, "$text-muted"), gutter=len(rule), part=dashes))
    for row, source in zip(rows[1:], sources[1:], strict=True):
        lines.extend(_row(row, widths, alignments, source))
    return lines


def _head(node: SyntaxTreeNode) -> SyntaxTreeNode:
    return node.children[0].children[0]


def _source(row: SyntaxTreeNode) -> TableRow:
    cells = (cell.children[0].content if cell.children else "" for cell in row.children)
    return TableRow(f"| {' | '.join(cell.replace('|', _BAR) for cell in cells)} |")


def _cell(node: SyntaxTreeNode) -> Content:
    return inline(node.children[0].to_tokens()[0].children or ()) if node.children else Content("")


def _widest(cell: Content) -> int:
    return max((line.cell_length for line in cell.split("\n", allow_blank=True)), default=0)


def _share(wanted: Sequence[int], room: int) -> list[int]:
    """Cut the widest columns down until the row fits."""
    widths = [max(size, 1) for size in wanted]
    while sum(widths) > room and max(widths) > 1:
        widest = max(widths)
        second = max((size for size in widths if size < widest), default=0)
        count = widths.count(widest)
        cut = max(1, min(widest - second, (sum(widths) - room) // count))
        for place in [i for i, size in enumerate(widths) if size == widest]:
            if sum(widths) > room:
                widths[place] = max(1, widths[place] - cut)
    return widths


def _row(
    cells: Sequence[Content], widths: Sequence[int], alignments: Sequence[str], source: TableRow
) -> list[Line]:
    columns = [wrap(cell, size) for cell, size in zip(cells, widths, strict=False)]
    lines = []
    for parts in zip_longest(*columns, fillvalue=BLANK):
        pieces = [
            _aligned(part.content, size, alignment)
            for part, size, alignment in zip(parts, widths, alignments, strict=False)
        ]
        lines.append(Line(Content(" " * GAP).join(pieces).rstrip(), part=source))
    return lines


def _aligned(content: Content, width: int, alignment: str) -> Content:
    spare = max(0, width - content.cell_length)
    left = {"right": spare, "center": spare // 2}.get(alignment, 0)
    return content.pad(left, spare - left)


def _records(rows: Sequence[Sequence[Content]], width: int) -> list[Line]:
    """Each row as ``heading: cell`` lines."""
    heading, *body = rows
    lines: list[Line] = []
    for row in body:
        if lines:
            lines.append(BLANK)
        for name, cell in zip(heading, row, strict=False):
            named = Content.assemble(name.stylize("bold"), ": ", cell) if name else cell
            lines.extend(indented(wrap(named, width - GAP), Content(""), Content(" " * GAP)))
    return lines
