"""Plain text as rows: nothing is lost, everything fits, and growing changes nothing."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.content import Content
from textual.selection import SELECT_ALL

from local_agent.tui.look.growing_lines import JoinedLines, PlainLines
from local_agent.tui.look.lines import BLANK, TAB_SIZE, Line, selected_text

pieces = st.sampled_from(["word ", "a", " ", "\n", "long" * 9, "漢字", "e\u0301", "  indented", "\n\n", "\t"])
texts = st.lists(pieces, max_size=40)


@given(texts, st.integers(4, 30))
def test_rows_fit_and_hold_all_of_the_text(parts: list[str], width: int) -> None:
    text = "".join(parts)
    lines = PlainLines(width, text)
    assert all(cell_len(line.content.plain.rstrip()) <= width for line in lines)
    # Spaces at the very end that fit on no row are not drawn.
    assert selected_text(lines, SELECT_ALL).rstrip(" ") == text.expandtabs(TAB_SIZE).rstrip(" ")


@given(texts, st.integers(4, 30))
def test_a_text_that_grew_has_the_rows_of_one_that_came_whole(parts: list[str], width: int) -> None:
    grown = PlainLines(width)
    for part in parts:
        grown.feed(part)
    whole = PlainLines(width, "".join(parts))
    assert [line.content.plain for line in grown] == [line.content.plain for line in whole]


def test_a_prefix_is_drawn_and_not_selected() -> None:
    lines = PlainLines(10, "one two three", Content("> "))
    assert [line.content.plain for line in lines] == ["> one two", "> three"]
    assert selected_text(lines, SELECT_ALL) == "one two three"


def test_blocks_are_joined_by_one_gap_each() -> None:
    lines = JoinedLines()
    lines.finish([])
    lines.finish([Line(Content("a"))])
    lines.open([Line(Content("half"))])
    lines.finish(PlainLines(9, "b\nc"))
    lines.open([Line(Content("d"))])
    assert [line.content.plain for line in lines] == ["a", "", "b", "c", "", "d"]
    assert (lines[1], lines[-1].content.plain, len(lines[4:])) == (BLANK, "d", 2)
