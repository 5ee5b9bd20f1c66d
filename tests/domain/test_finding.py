"""What is found in a text: literal words, small letters for both cases, nothing hidden between letters."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.finding import LONGEST, Found, Sought, found_in_entries
from local_agent.domain.text import sanitise


@pytest.mark.parametrize(
    ("words", "text", "count"),
    [
        ("zebra", "Zebra, zebra and ZEBRA", 3),
        ("Zebra", "Zebra, zebra and ZEBRA", 1),
        ("e", "Everyone", 3),
        ("one two", "one two, one\ntwo, one\ttwo, one  two", 3),
        ("a.*[b](c)\\d", "a.*[b](c)\\d axb", 1),
        ("größe", "Größe und größe", 2),
        ("σας", "ΣΑΣ σας", 2),
        ("👍🏽", "fine 👍🏽 and 👍", 1),
        ("password", "pass\u200dword", 0),
        ("password", "pass\u202eword\u202c", 1),
        ("␛[31m", "é \x1b[31mred", 1),
        ("x", "", 0),
        ("", "anything", 0),
        ("日本", "日本語 日本", 2),
    ],
)
def test_words_are_found_as_they_are_drawn(words: str, text: str, count: int) -> None:
    assert Sought.of(words).count(text) == count


def test_what_is_looked_for_is_one_bounded_line_without_tricks() -> None:
    assert Sought.of("  a\u202eb\nc\x1b ").words == "ab c␛"
    assert len(Sought.of("x" * 10_000).words) == LONGEST
    assert Sought.of(" \n\t").words == "" and Sought.of("\u202e").count("text") == 0
    assert Sought.of("x" * 10_000).count("X" * 2_500) == 2


@given(st.text(max_size=12), st.text(max_size=200))
def test_the_quick_count_is_that_of_the_pattern(typed: str, text: str) -> None:
    sought = Sought.of(typed)
    if sought.words and "\t" not in text and "\r" not in text:
        found = re.findall(sought.pattern, sanitise(text))
        assert sought.count(text) == len(found)


def test_the_newest_comes_first_and_the_answer_before_its_thinking() -> None:
    def entry(number: int, kind: Kind, text: str, thinking: str = "") -> Entry:
        return Entry(number, 1, 1, None, kind, Origin.MODEL, text, thinking=thinking)

    path = [
        entry(1, Kind.QUESTION, "a fox?"),
        entry(2, Kind.ASSISTANT, "A fox, a fox.", "fox"),
        entry(3, Kind.MARKER, "fox"),
    ]
    assert found_in_entries(Sought("fox"), path) == (Found(2, 2), Found(1, 1))
    with_thinking = Found(2, 2), Found(2, 1, thinking=True), Found(1, 1)
    assert found_in_entries(Sought("fox", thinking=True), path) == with_thinking
