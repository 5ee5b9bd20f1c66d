"""Markdown blocks as lines of a width: the one place that says how a reply looks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from textual.content import Content

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.growing_lines import PlainLines
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.markdown.code import code
from local_agent.tui.markdown.inline import inline
from local_agent.tui.markdown.parser import parser
from local_agent.tui.markdown.table import table

NARROWEST = 12
"""Cells below which a nested block stops being indented further."""
TYPESET_LIMIT = 200_000
LINE_LIMIT = 10_000
"""Characters of a text and of one line: what is longer is no document, and is drawn as plain text."""
DEEPEST = 20
"""Levels at which the parser stops, and drops what is nested deeper: such a text is drawn as plain text."""


class Typesetter:
    """Typesets blocks for one width with one set of glyphs."""

    def __init__(self, width: int, glyphs: Glyphs = UNICODE) -> None:
        self.width = max(width, 2)
        self.glyphs = glyphs

    def typeset(self, source: str) -> Sequence[Line]:
        """All blocks of a text, a blank line between them."""
        if len(source) > TYPESET_LIMIT or max(map(len, source.splitlines()), default=0) > LINE_LIMIT:
            return self.plain(source)
        tokens = parser.parse(source)
        if any(token.level >= DEEPEST - 1 for token in tokens):
            return self.plain(source)
        return self._blocks(SyntaxTreeNode(tokens).children, self.width)

    def plain(self, source: str) -> Sequence[Line]:
        """The text as it was written."""
        return PlainLines(self.width, source.rstrip("\n"))

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], width: int, *, tight: bool = False) -> list[Line]:
        lines: list[Line] = []
        for node in nodes:
            block = self._block(node, width)
            if lines and block and not (tight and (node.type in _LISTS or node.hidden)):
                lines.append(BLANK)
            lines.extend(block)
        return lines

    def _block(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        match node.type:
            case "heading":
                title = _inline(node).stylize(_HEADINGS.get(node.tag, "bold"))
                return indented(wrap(title, width), Content(""), leads=("#" * int(node.tag[1:]) + " ", ""))
            case "paragraph":
                return wrap(_inline(node), width)
            case "fence" | "code_block":
                return code(node.content, node.info, width, self.glyphs)
            case "bullet_list" | "ordered_list":
                return self._list(node, width)
            case "blockquote":
                bar = Content.styled(self.glyphs.thin_bar + " ", "$text-muted")
                return self._nested(node, width, (bar, bar), ("> ", "> "))
            case "table":
                return table(node, width, self.glyphs)
            case "hr":
                rule = self.glyphs.rule * min(width, 24)
                return [Line(Content.styled(rule, "$text-muted"), gutter=len(rule), lead="---")]
            case _:
                return wrap(Content(node.content.rstrip("\n")), width) if not node.is_nested else []

    def _list(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        parts = [part for item in node.children for part in item.children]
        tight = all(part.hidden for part in parts if part.type == "paragraph")
        number = int(node.attrs.get("start", 1))
        last = number + len(node.children) - 1
        lines: list[Line] = []
        for item in node.children:
            lead = f"{item.markup} "
            if node.type == "ordered_list":
                lead = f"{number}{lead}"
                marker = lead.rjust(len(f"{last}{item.markup} "))
                number += 1
            else:
                marker = (self.glyphs.bullet if node.level == 0 else self.glyphs.circle) + " "
            if lines and not tight:
                lines.append(BLANK)
            indents = (" " * len(marker), " " * len(lead))
            first = Content.styled(marker, "$text-muted")
            ticked = _take_box(item)
            if ticked is not None:
                box = self.glyphs.done if ticked else self.glyphs.todo
                first = Content.styled(f"{box} ", "$text-success" if ticked else "$text-muted")
                if node.type == "ordered_list":
                    first = Content.styled(marker, "$text-muted") + first
                lead += "[x] " if ticked else "[ ] "
                indents = (" " * len(first), indents[1])
            rows = self._nested(item, width, (first, Content(indents[0])), (lead, indents[1]))
            lines.extend(rows or [Line(first, len(first), lead=lead)])
        return lines

    def _nested(
        self, node: SyntaxTreeNode, width: int, prefixes: tuple[Content, Content], leads: tuple[str, str]
    ) -> list[Line]:
        """What stands inside a block: the first row and the others each behind their prefix."""
        tight = node.type == "list_item"
        room = width - len(prefixes[0])
        if room < NARROWEST:
            prefixes, room = (Content(""), Content("")), width
        lines = self._blocks(node.children, room, tight=tight)
        return indented(lines, *prefixes, leads)


_BOX = re.compile(r"\[([ xX])\] +(?=\S)")
_LISTS = ("bullet_list", "ordered_list")
_HEADINGS = {"h1": "bold $text-primary", "h2": "bold $text-primary"}


def finished_end(source: str) -> int:
    """The offset up to which all blocks of a growing text are finished.

    Only whole lines count: the ``*`` of a line that has just begun may be a list, or part of a word.
    """
    lines = source.split("\n")[:-1]
    last = None
    for token in parser.parse("\n".join([*lines, ""])):
        if token.level == 0 and token.map:
            last = token
    if last is None or last.map is None:
        return 0
    start, end = last.map
    finished = end if _is_over(last, lines) else start
    while finished < len(lines) and not lines[finished].strip():
        finished += 1
    return sum(len(line) + 1 for line in lines[:finished])


def _is_over(block: Token, lines: Sequence[str]) -> bool:
    """True when no line that follows can belong to the block."""
    start, end = block.map or (0, 0)
    match block.type:
        case "heading_open" | "hr":
            return True
        case "paragraph_open" | "table_open":
            return end < len(lines)
        case "fence":
            last = lines[end - 1].strip()
            return end - start > 1 and last.startswith(block.markup) and not last.strip(block.markup[0])
        case _:
            return False


def _take_box(item: SyntaxTreeNode) -> bool | None:
    """Whether the task of a list item is ticked, its box taken off the text; None when it has none."""
    paragraph = item.children[0] if item.children else None
    if paragraph is None or paragraph.type != "paragraph":
        return None
    words = paragraph.children[0].to_tokens()[0].children or [] if paragraph.children else []
    box = _BOX.match(words[0].content) if words and words[0].type == "text" else None
    if box is None:
        return None
    words[0].content = words[0].content[box.end() :]
    return box[1] != " "


def _inline(node: SyntaxTreeNode) -> Content:
    child = node.children[0] if node.children else None
    return inline(child.to_tokens()[0].children or ()) if child is not None else Content("")
