"""Marks stand where the words are drawn, however the lines are broken and decorated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.content import Content

from local_agent.domain.finding import Sought
from local_agent.tui.conversation.marks import Spot, marked, nearest, spans, spots
from local_agent.tui.look.glyphs import UNICODE
from local_agent.tui.look.growing_lines import PlainLines
from local_agent.tui.look.lines import BLANK, Line, decoration, fold, indented, wrap
from local_agent.tui.markdown.typeset import Typesetter


def marks(lines: list[Line], words: str) -> list[str]:
    """What is marked, row by row."""
    return [
        line.content.plain[start:end]
        for row, line in enumerate(lines)
        for start, end, _ in spans(lines, row, Sought(words))
    ]


def test_words_broken_over_rows_are_marked_on_both_and_counted_once() -> None:
    lines = wrap(Content("one two three four"), 9)
    assert [line.content.plain for line in lines] == ["one two", "three", "four"]
    assert marks(lines, "two three") == ["two", "three"]
    assert spots(lines, Sought("two three")) == [Spot(0, 4)]
    assert marks(fold(Content("abcdefgh"), 3), "cde") == ["c", "de"]


def test_decoration_is_never_marked_and_never_parts_words() -> None:
    bar = Content("▏ ")
    lines = indented(wrap(Content("a bar in a bar"), 8), bar)
    assert marks(lines, "bar in") == ["bar in"] or marks(lines, "bar in") == ["bar", "in"]
    assert spots(lines, Sought("bar"))[0] == Spot(0, 4)
    assert marks([decoration("thought for 4 s", "dim"), Line(Content("thought"))], "thought") == ["thought"]


@given(st.text("ab \n", min_size=1, max_size=60), st.integers(2, 20), st.text("ab ", min_size=1, max_size=4))
def test_all_marks_are_where_the_places_are(text: str, width: int, words: str) -> None:
    sought = Sought.of(words)
    lines = PlainLines(width, text)
    begun = [spot for row in range(len(lines)) for _, _, spot in spans(lines, row, sought)]
    if sought.words:
        # Where matches could overlap, a row by itself may begin them elsewhere.
        if len(set(sought.words)) == len(sought.words):
            assert sorted(set(begun)) == spots(lines, sought)
        for row in range(len(lines)):
            assert marked(lines, row, sought, None).content.plain == lines[row].content.plain


def test_markdown_is_found_as_it_is_drawn() -> None:
    lines = list(
        Typesetter(40, UNICODE).typeset("A **bold** word\nof it\n\n- first `item`\n\n```py\nitem = 1\n```")
    )
    assert marks(lines, "bold word of") == ["bold word", "of"]
    assert marks(lines, "item") == ["item", "item"]
    assert marks(lines, "**") == []


def test_of_as_many_places_each_is_its_own_and_of_fewer_the_nearest() -> None:
    places = [Spot(1, 0), Spot(5, 0), Spot(9, 0)]
    assert [nearest(places, number, 3) for number in range(3)] == places
    assert nearest(places, 5, 6) == places[2] and nearest(places, 0, 6) == places[0]
    assert nearest([], 0, 1) is None


@pytest.mark.parametrize("row", [0, 50_000, 99_999])
def test_one_row_of_a_hundred_thousand_costs_one_row(row: int) -> None:
    read: list[int] = []

    class Counted(list[Line]):
        def __getitem__(self, index: object) -> Line:  # type: ignore[override]  # only rows and slices are read
            read.append(1 if isinstance(index, int) else len(range(*index.indices(len(self)))))  # type: ignore[union-attr]  # as above
            return super().__getitem__(index)  # type: ignore[return-value,index]  # as above

    lines = Counted([BLANK] * 100_000)
    list(spans(lines, row, Sought("some words")))
    assert sum(read) < 60
