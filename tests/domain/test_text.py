"""The normaliser and the sanitiser."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain import text as text_module
from local_agent.domain.graphemes import clusters, cut_clusters
from local_agent.domain.text import ArrivingText, GrowingText, decode, normalise, one_line, sanitise
from tests.proofs.hostile import NASTY, nasty_text, unsafe

ZERO_WIDTH = "\u0301\u0308\u20e3\ufe0f\u200d\u200b\u200c\u2060\u00ad\u0e31\u093e"
HOSTILE = (
    "a b\n\r\t\x0b\x0c\x00\x07\x1b\x7f\x85\x9b\x9d\u2028\u2029\u061c\u200e\u202e\u2066\u2069\ufeff\ufff9"
    "\U000e0041\U000e007f\U0001f469\U0001f3fd\U0001f1e9\ud83d\ude00\ud800" + ZERO_WIDTH
)
hostile = st.one_of(st.text(HOSTILE), st.text(st.characters()), st.text(ZERO_WIDTH, min_size=5))


@given(hostile)
def test_both_doors_are_idempotent(text: str) -> None:
    assert normalise(normalise(text)) == normalise(text)
    assert sanitise(sanitise(text)) == sanitise(text)
    assert one_line(one_line(text)) == one_line(text)
    assert sanitise(one_line(text)) == one_line(text)


@given(hostile)
def test_nothing_that_controls_a_terminal_is_drawn(text: str) -> None:
    drawn = sanitise(text)
    drawn.encode("utf-8")
    assert unsafe(drawn) == []
    assert not {"\ufeff", "\ufff9", "\ufffa", "\ufffb"} & set(drawn)


@given(hostile)
def test_floods_of_characters_without_a_cell_are_cut(text: str) -> None:
    marks = invisible = 0
    for char in sanitise(text):
        zero_width = unicodedata.category(char) in ("Mn", "Me")
        format_only = char in "\u00ad\u200b\u200c\u200d\u2060"
        marks = marks + 1 if zero_width else marks if format_only else 0
        invisible = invisible + 1 if format_only else invisible if zero_width else 0
        assert marks <= 8
        assert invisible <= 2


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_sound_text_is_stored_as_it_is(text: str) -> None:
    assert normalise(text) == text
    assert decode(text.encode("utf-8")) == text


_ORDINARY = st.characters(
    exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Mn", "Me", "Cn", "Co"],
    exclude_characters="\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff",
)


@given(st.text(_ORDINARY))
def test_ordinary_letters_and_signs_are_drawn_as_they_are(text: str) -> None:
    assert sanitise(text) == text


@pytest.mark.parametrize(
    "text",
    ["👨‍👩‍👧‍👦", "🏳️‍🌈", "👩🏽‍💻", "1️⃣", "🇩🇪", "ạ̄́", "שָׁלוֹם", "क्‍ष", "می‌خواهم", "ཧཱུྃ", "e\u0301\u0323\u0302", "❤️‍🔥"],
)
def test_what_scripts_and_emoji_need_survives(text: str) -> None:
    assert sanitise(text) == text


@pytest.mark.parametrize(
    ("text", "drawn"),
    [
        ("\x1b[31mred\x1b]8;;http://x\x07", "␛[31mred␛]8;;http://x␇"),
        ("a\r\nb\rc\x0bd\u2028e", "a\nb\nc\nd\ne"),
        ("\x9b31m\x7f", "\ufffd31m␡"),
        ("a\tb\n\tc", "a   b\n    c"),
        ("abc\u202edef\u202c", "abcdef"),
        ("hi\U000e0068\U000e0069", "hi"),
        ("\ud83d\ude00 \ud83d", "😀 \ufffd"),
        ("a\U0001f3fd \U0001f44d\U0001f3fd\U0001f3fd", "a\ufffd \U0001f44d\U0001f3fd\ufffd"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
    ],
)
def test_what_is_drawn_in_place_of_what(text: str, drawn: str) -> None:
    assert sanitise(text) == drawn


def test_the_blocks_hold_every_character_without_a_cell() -> None:
    possible = text_module._POSSIBLE_FLOOD
    for code in range(sys.maxunicode + 1):
        char = chr(code)
        if unicodedata.category(char) in ("Mn", "Me") or char in text_module._INVISIBLE:
            assert possible.fullmatch(char * 3), f"U+{code:04X}"


@given(hostile, st.integers(1, 12))
def test_a_cut_line_fits_and_begins_as_the_whole(text: str, limit: int) -> None:
    whole, short = one_line(text), one_line(text, limit)
    assert len(list(clusters(short))) <= limit
    assert whole == short or whole.startswith(short.removesuffix("…"))
    assert "\n" not in short


@given(hostile)
def test_clusters_joined_are_the_text(text: str) -> None:
    assert "".join(clusters(text)) == text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("abc", 3),
        ("👨‍👩‍👧‍👦", 1),
        ("🏳️‍🌈a", 2),
        ("👩🏽‍💻👩", 2),
        ("🇩🇪🇫🇷🇩", 3),
        ("e\u0301x", 2),
        ("1️⃣2", 2),
        ("नि", 1),
        ("a\u200db", 2),
    ],
)
def test_clusters_are_what_a_reader_counts(text: str, count: int) -> None:
    assert len(list(clusters(text))) == count


def test_a_cut_never_splits_a_cluster() -> None:
    assert cut_clusters("👨‍👩‍👧‍👦" * 3, 2) == "👨‍👩‍👧‍👦…"
    assert cut_clusters("👨‍👩‍👧‍👦" * 2, 2) == "👨‍👩‍👧‍👦" * 2


@given(nasty_text(), st.booleans(), st.data())
def test_a_text_that_comes_in_pieces_is_drawn_as_a_whole_one(
    text: str, tabs: bool, data: st.DataObject
) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    growing = GrowingText(tabs=tabs)
    drawn = [growing.feed(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert "".join(drawn) + growing.finish() == sanitise(text, tabs=tabs)


@pytest.mark.parametrize("name", NASTY)
def test_one_character_at_a_time_is_drawn_as_the_whole(name: str) -> None:
    growing = GrowingText()
    assert "".join(map(growing.feed, NASTY[name])) + growing.finish() == sanitise(NASTY[name])


@given(st.text("a\ud83d\ude00\ud800\udfff"), st.data())
def test_a_pair_that_is_cut_in_two_is_one_character(text: str, data: st.DataObject) -> None:
    cut = data.draw(st.integers(0, len(text)))
    arriving = ArrivingText()
    assert normalise(text).startswith(arriving.feed(text[:cut]) + arriving.feed(text[cut:]))
