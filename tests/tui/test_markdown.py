"""Markdown as lines: how it looks, that it fits, that nothing is lost, and that growing changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from local_agent.domain.text import sanitise
from local_agent.tui.glyphs import ASCII
from local_agent.tui.lines import selected_text
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.typeset import Typesetter

SAMPLE = """# Title

Some *emph* and **bold** with `code`, [a link](http://x.y/z) and <http://auto.link>.

- one
  - nested
- two

1. first
2. second

> quoted words

```python
def f():
    return 1
```

| name | count |
|------|------:|
| a    |     1 |

---
<b>raw</b>
"""

PIECES = [
    "word ",
    "\n",
    "\n\n",
    "- item\n",
    "1. n\n",
    "```\n",
    "~~~py\n",
    "> q\n",
    "# h\n",
    "    code\n",
    "*",
    "**b**",
    "`c`",
    "[t](u)",
    "<x>",
    "   ",
    "\t",
    "漢字",
    "===\n",
]
TABLE_PIECES = ("| a | b |\n|---|---|\n", "| 1 | 2 |\n")
pieces = st.sampled_from([*PIECES, *TABLE_PIECES, "e\u0301"])
documents = st.lists(pieces, max_size=60).map("".join)


def rows(source: str, width: int = 60) -> list[str]:
    return [line.content.plain.rstrip() for line in Typesetter(width).typeset(source)]


def test_how_everything_looks() -> None:
    assert rows(SAMPLE, 44) == [
        "Title",
        "",
        "Some emph and bold with code, a link",
        "(http://x.y/z) and http://auto.link.",
        "",
        "• one",
        "  ◦ nested",
        "• two",
        "",
        "1. first",
        "2. second",
        "",
        "▏ quoted words",
        "",
        "▏ python",
        "▏ def f():",
        "▏     return 1",
        "",
        "name  count",
        "───────────",
        "a         1",
        "",
        "────────────────────────",
        "",
        "<b>raw</b>",
    ]


def test_plain_glyphs_are_plain() -> None:
    assert all(line.content.plain.isascii() for line in Typesetter(44, ASCII).typeset(SAMPLE))


@pytest.mark.parametrize("source", [">" * 500 + " deep", "- " * 200 + "deep", "x" * 30_000 + " deep"])
def test_what_is_no_document_is_still_all_there(source: str) -> None:
    assert "deep" in "".join(rows(source))


def test_a_table_too_wide_for_columns_becomes_records() -> None:
    heading = "| " + " | ".join(f"column {n}" for n in range(8)) + " |\n" + "|---" * 8 + "|\n"
    drawn = rows(heading + "| " + " | ".join(f"value {n}" for n in range(8)) + " |\n", 30)
    assert drawn[0] == "column 0: value 0" and len(drawn) == 8


@given(documents, st.integers(14, 90))
def test_no_row_is_wider_than_the_width(source: str, width: int) -> None:
    for line in Typesetter(width).typeset(source):
        assert cell_len(line.content.plain.rstrip()) <= width


@given(documents, st.lists(st.integers(1, 40), min_size=1, max_size=20))
async def test_a_text_that_grew_looks_like_one_that_came_whole(source: str, sizes: list[int]) -> None:
    growing = GrowingMarkdown(50)
    start, turn = 0, 0
    while start < len(source):
        size = sizes[turn % len(sizes)]
        await growing.feed(source[start : start + size])
        start, turn = start + size, turn + 1
    await growing.finish()
    assert [line.content.plain for line in growing.lines] == [
        line.content.plain for line in Typesetter(50).typeset(sanitise(source))
    ]


@pytest.mark.parametrize(
    "source",
    [
        "- item of a list\n" * 500,
        "```python\n" + "x = 1\n" * 500 + "```\n\nafter",
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 500 + "\nafter",
        "one long line " * 2_000,
        "> quoted\n" * 300 + "\nafter\n\n- and\n- on",
    ],
)
async def test_a_long_block_ends_up_typeset(source: str) -> None:
    growing = GrowingMarkdown(50)
    for start in range(0, len(source), 97):
        await growing.feed(source[start : start + 97])
    await growing.finish()
    whole = Typesetter(50).typeset(source)
    assert [line.content.plain for line in growing.lines] == [line.content.plain for line in whole]


async def test_a_line_break_cut_in_two_is_one() -> None:
    growing = GrowingMarkdown(50)
    for piece in ("one\r", "\ntwo\r", "\n"):
        await growing.feed(piece)
    await growing.finish()
    assert growing.source == "one\ntwo\n"


def test_a_selection_has_no_decoration_and_no_soft_breaks() -> None:
    lines = Typesetter(20).typeset("some words that wrap around\n\n```py\nlong_name = another_name + 1\n```")
    assert selected_text(lines, SELECT_ALL).split("\n\n") == [
        "some words that wrap around",
        "\nlong_name = another_name + 1",
    ]
    assert selected_text(lines, Selection(Offset(5, 0), Offset(4, 1))) == "words that wrap arou"
