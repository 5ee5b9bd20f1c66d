"""Code blocks: highlighted, behind a bar, nothing cut off."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from pygments.lexers import find_lexer_class_by_name
from pygments.token import Token
from pygments.util import ClassNotFound
from textual.content import Content
from textual.highlight import HighlightTheme, highlight

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.look.lines import TAB_SIZE, Code, Line, fold, indented, with_tabs
from local_agent.tui.markdown.parser import parser

HIGHLIGHT_LIMIT = 20_000
"""Characters; colouring more takes longer than a person waits for a page."""

LANGUAGE_LIMIT = 40
"""Characters of a language's name."""

COPY = "copy"
"""Stands at the right of a block's first row."""


class CalmTheme(HighlightTheme):
    """Few colours: what is commented, what is quoted, and the words of the language."""

    STYLES = {  # noqa: RUF012 - Textual declares it as a plain class attribute
        Token.Comment: "$code-comment italic",
        Token.Keyword: "$code-keyword",
        Token.Operator.Word: "$code-keyword",
        Token.Name.Decorator: "$code-keyword",
        Token.Name.Tag: "$code-keyword",
        Token.Name.Class: "bold",
        Token.Name.Function: "bold",
        Token.Name.Attribute: "$code-number",
        Token.Literal.String: "$code-string",
        Token.Literal.Number: "$code-number",
        Token.Generic.Deleted: "$text-error",
        Token.Generic.Inserted: "$text-success",
        Token.Generic.Heading: "bold",
        Token.Generic.Strong: "bold",
        Token.Generic.Emph: "italic",
    }


def code(source: str, info: str, width: int, glyphs: Glyphs) -> list[Line]:
    """A code block of ``width`` cells; ``info`` is what follows the fence."""
    bar = Content.styled(glyphs.thin_bar + " ", "$text-muted")
    language = one_line((info.split() or [""])[0], LANGUAGE_LIMIT)
    block = Code(source.removesuffix("\n"))
    lines: list[Line] = []
    if language:
        # Decoration from end to end: a copied block does not carry the name of its language.
        name = Content.styled(language, "$text-muted").truncate(max(width - len(bar), 1), ellipsis=True)
        lines.append(Line(name, gutter=len(name), joint="", part=block))
    for row in _coloured(block.source, language.lower()).split("\n", allow_blank=True):
        lines.extend(fold(row, width - len(bar), block))
    lines[0] = replace(lines[0], aside=Content.styled(COPY, "$text-muted"))
    return indented(lines, bar)


def code_blocks(source: str) -> list[str]:
    """The code of a Markdown text, block by block, each without its last line break."""
    return [
        token.content.removesuffix("\n")
        for token in parser.parse(source)
        if token.type in ("fence", "code_block")
    ]


def _coloured(source: str, language: str) -> Content:
    text, tabs = with_tabs(source)
    if not language or len(text) > HIGHLIGHT_LIMIT or not _known(language):
        return Content(text, tabs)
    coloured = highlight(text, language=language, theme=CalmTheme, tab_size=TAB_SIZE)
    # A lexer may fold line ends of its own (form feeds): then its spans are of another text.
    return Content(text, [*coloured.spans, *tabs] if coloured.plain == text else tabs)


@lru_cache(maxsize=256)
def _known(language: str) -> bool:
    """Asked once for each name: an unknown one makes Pygments search all installed packages."""
    try:
        find_lexer_class_by_name(language)
    except ClassNotFound:
        return False
    return True
