"""Markdown as lines: how it looks, that it fits, that nothing is lost, and that growing changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.geometry import Offset
from textual.selection import SELECT_ALL, Selection

from local_agent.domain.text import sanitise
from local_agent.tui.look.glyphs import ASCII
from local_agent.tui.look.lines import Code, Line, selected_text
from local_agent.tui.markdown.code import code_blocks
from local_agent.tui.markdown.growing import GrowingMarkdown
from local_agent.tui.markdown.inline import links
from local_agent.tui.markdown.typeset import Typesetter

SAMPLE = """# Title

Some *emph* and **bold** with `code`, [a link](http://x.y/z) and <http://auto.link>.

- one
  - nested
- two

1. first
2. second

7) seventh, ~~gone~~
8) - [ ] to do
   - [x] done

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
    "\tdeep  \n",
    "漢字",
    "===\n",
    "***\n",
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
        "7) seventh, gone",
        "8) ☐ to do",
        "   ☑ done",
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
    source = f"{SAMPLE}\n[far](https://example.com/{'long/' * 20})\n"
    assert all(line.content.plain.isascii() for line in Typesetter(44, ASCII).typeset(source))


@pytest.mark.parametrize("source", [">" * 500 + " deep", "- " * 200 + "deep", "x" * 30_000 + " deep"])
def test_what_is_no_document_is_still_all_there(source: str) -> None:
    assert "deep" in "".join(rows(source))


def test_a_table_too_wide_for_columns_becomes_records() -> None:
    heading = "| " + " | ".join(f"column {n}" for n in range(8)) + " |\n" + "|---" * 8 + "|\n"
    drawn = rows(heading + "| " + " | ".join(f"value {n}" for n in range(8)) + " |\n", 30)
    assert drawn[0] == "column 0: value 0" and len(drawn) == 8


def test_a_cell_breaks_its_line_and_a_column_without_a_heading_has_no_label() -> None:
    source = "| a | |\n|---|---|\n| one<br>two | three |\n"
    assert rows(source, 30) == ["a", "──────────", "one  three", "two"]
    narrow = rows("| a | | c |\n|---|---|---|\n| long word | other | third |\n", 14)
    assert narrow == ["a: long word", "other", "c: third"]


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
        line.content.plain for line in Typesetter(50).typeset(sanitise(source, tabs=True))
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
        "long_name = another_name + 1",
    ]
    assert selected_text(lines, Selection(Offset(5, 0), Offset(4, 1))) == "words that wrap arou"


def test_several_rows_are_copied_as_the_markdown_that_they_are() -> None:
    source = """\
## Steps

1. read *everything* that stands here
   - [x] even this

> one
> two

| name | what |
|---|---:|
| a \\| b | a cell of many words that wraps |

- end
"""
    lines = Typesetter(24).typeset(source)
    # The emphasis is drawn and not written; everything else is as it was.
    assert selected_text(lines, SELECT_ALL) == source.replace("*", "").rstrip("\n")
    assert selected_text(lines, Selection(Offset(0, 0), Offset(5, 0))) == "Steps", "of one row its words"
    below = Selection(Offset(6, 2), Offset(9, 5))
    assert selected_text(lines, below).startswith("d everything that stands here\n   - [x]"), "begun in a row"


def test_a_long_address_is_short_on_screen_and_whole_in_a_copy() -> None:
    url = f"https://example.com/{'long/' * 20}end"
    (line,) = Typesetter(60).typeset(f"see [the page]({url}) now")
    assert line.content.plain == "see the page (example.com/...) now"
    assert selected_text([line], SELECT_ALL) == f"see the page ({url}) now"
    assert [found[2] for found in links(line.content)] == [url]


@pytest.mark.parametrize(
    ("written", "drawn", "urls"),
    [
        ("<https://a.b/c>", "https://a.b/c", ["https://a.b/c"]),
        ("at https://a.b/c_(d)_e.", "at https://a.b/c_(d)_e.", ["https://a.b/c_(d)_e"]),
        ("(https://a.b/x_(y))", "(https://a.b/x_(y))", ["https://a.b/x_(y)"]),
        ("[https://bank.com](https://evil.com)", "https://bank.com (https://evil.com)", ["https://evil.com"]),
        (
            "[раypal](https://раypal.com)",
            "раypal (https://xn--ypal-43d9g.com)",
            ["https://xn--ypal-43d9g.com"],
        ),
        ("[me](mailto:me@a.b)", "me (mailto:me@a.b)", ["mailto:me@a.b"]),
        ("[x](javascript:alert)", "[x](javascript:alert)", []),
        ("`https://a.b`", "https://a.b", []),
        ("party 🎉", "party 🎉", []),
    ],
)
def test_where_a_link_leads_is_seen(written: str, drawn: str, urls: list[str]) -> None:
    (line,) = Typesetter(60).typeset(written)
    assert (line.content.plain, [url for _, _, url in links(line.content)]) == (drawn, urls)


def blocks_of(lines: Sequence[Line]) -> list[tuple[Code, int, int]]:
    """The code blocks that were drawn, with their first row of code and their last one."""
    found = []
    for part, rows in groupby(enumerate(lines), lambda row: row[1].part):
        if isinstance(part, Code):
            places = [y for y, line in rows if line.joint or line.gutter < len(line.content)]
            found.append((part, places[0], places[-1]))
    return found


@given(documents, st.integers(6, 90))
def test_code_is_copied_as_it_was_written(source: str, width: int) -> None:
    lines = Typesetter(width).typeset(source)
    blocks = blocks_of(lines)
    assert [part.source for part, _, _ in blocks] == code_blocks(source)
    for part, top, bottom in blocks:
        whole = Selection(Offset(0, top), Offset(len(lines[bottom].content), bottom))
        assert selected_text(lines, whole) == part.source


code_lines = st.lists(
    st.sampled_from(["\t", "x", "  ", "def f(a):", "漢字", "e\u0301", "`", "a" * 30, "| b", "👍🏽", "# c"]),
    max_size=6,
).map("".join)


@given(st.lists(code_lines, min_size=1, max_size=8), st.integers(4, 60), st.data())
def test_any_piece_of_code_is_a_piece_of_its_source(
    written: list[str], width: int, data: st.DataObject
) -> None:
    body = "\n".join(written)
    lines = Typesetter(width).typeset(f"~~~py\n{body}\n~~~")
    ends = st.tuples(st.integers(1, len(lines) - 1), st.integers(0, width))
    (top, left), (bottom, right) = sorted([data.draw(ends), data.draw(ends)])
    piece = selected_text(lines, Selection(Offset(left, top), Offset(right, bottom)))
    assert piece in body
    assert selected_text(lines, Selection(Offset(0, 1), None)) == body


@given(documents, st.integers(14, 60), st.data())
def test_no_selection_carries_what_was_only_drawn(source: str, width: int, data: st.DataObject) -> None:
    lines = Typesetter(width).typeset(source)
    ends = st.tuples(st.integers(0, max(len(lines) - 1, 0)), st.integers(0, width))
    (top, left), (bottom, right) = sorted([data.draw(ends), data.draw(ends)])
    for selection in (SELECT_ALL, Selection(Offset(left, top), Offset(right, bottom))):
        assert not set(selected_text(lines, selection)) & set("▏•◦☐☑─…")
