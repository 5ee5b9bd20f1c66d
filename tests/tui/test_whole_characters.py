"""Editing by what a reader takes for characters: emoji, flags, marks, folded pastes."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.app import App, ComposeResult
from textual.events import Paste

from local_agent.domain.graphemes import cluster_end, cluster_start, clusters
from local_agent.tui.widgets.composer import Composer
from local_agent.tui.widgets.line_input import LineInput

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAG = "\U0001f1e9\U0001f1ea"
TONED = "\U0001f44d\U0001f3fd"
ACCENTED = "e\u0301"
HINDI = "\u0939\u093f\u0928\u094d\u0926\u0940"
PIECES = (
    FAMILY,
    FLAG,
    TONED,
    ACCENTED,
    HINDI,
    "\u2764\ufe0f",
    "a",
    "b c",
    " ",
    "\t",
    "\n",
    "\u6f22",
    "\u0301",
)
MOVES = (
    "cursor_left",
    "cursor_right",
    "cursor_word_left",
    "cursor_word_right",
    "cursor_line_start",
    "cursor_line_end",
    "cursor_up",
    "cursor_down",
    "delete_left",
    "delete_right",
    "delete_word_left",
    "delete_word_right",
    "delete_to_start_of_line",
    "delete_to_end_of_line",
    "undo",
    "redo",
)
texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


class Desk(App[None]):
    """Both things that one types into."""

    def compose(self) -> ComposeResult:
        yield Composer()
        yield LineInput()


def boundaries(text: str) -> set[int]:
    ends, at = {0}, 0
    for cluster in clusters(text):
        at += len(cluster)
        ends.add(at)
    return ends


@given(texts, st.integers(0, 60))
def test_a_cluster_is_found_without_reading_the_text_before_it(text: str, index: int) -> None:
    index = min(index, len(text))
    ends = boundaries(text)
    assert cluster_start(text, index) == max(end for end in ends if end <= index)
    assert cluster_end(text, index) == min(end for end in ends if end >= index)


async def test_the_cursor_stands_between_characters_whatever_one_does() -> None:
    app = Desk()
    async with app.run_test(size=(12, 8)):
        composer = app.query_one(Composer)
        token = composer._pastes.token("x\n" * 40)

        @settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            st.lists(st.sampled_from((*PIECES, token)), max_size=9).map("".join),
            st.lists(st.sampled_from(MOVES), max_size=12),
            st.integers(0, 40),
            st.booleans(),
        )
        def edits(text: str, moves: list[str], column: int, select: bool) -> None:
            composer.load_text(text)
            composer.move_cursor((0, column))
            for move in moves:
                movement = move.startswith("cursor")
                getattr(composer, f"action_{move}")(*((select,) if movement else ()))
                for row, column in composer.selection:
                    line = composer.document.get_line(row)
                    assert column in boundaries(line)
                    assert not any(start < column < end for start, end in composer.atoms(line))
                # Nothing of a token is left behind, unless all of it is.
                assert composer.text.count("pasted #1") == composer.text.count(token)

        edits()


async def test_an_accent_on_a_folded_paste_goes_with_it() -> None:
    app = Desk()
    async with app.run_test(size=(60, 8)) as pilot:
        composer = app.query_one(Composer)
        token = composer._pastes.token("x\n" * 40)
        for end in (f"{token}{token}\u0301", f"\u0600{token}"):
            composer.load_text(f"a{end}")
            composer.move_cursor((0, len(end) - 5))
            assert composer.cursor_location[1] in boundaries(composer.text)
            composer.move_cursor(composer.document.end)
            await pilot.press("left")
            assert composer.cursor_location[1] in boundaries(composer.text)
            await pilot.press("delete")
            assert composer.text == f"a{end}"[: composer.cursor_location[1]]
            assert composer.text.count("pasted") == composer.text.count(token)


@pytest.mark.parametrize("piece", [FAMILY, FLAG, TONED, ACCENTED, "\u0939\u093f"])
async def test_a_key_moves_over_a_character_and_takes_it_whole(piece: str) -> None:
    app = Desk()
    async with app.run_test(size=(40, 8)) as pilot:
        composer, line = app.query_one(Composer), app.query_one(LineInput)
        composer.load(f"a{piece}b")
        await pilot.press("left", "left")
        assert composer.cursor_location == (0, 1)
        await pilot.press("right", "backspace")
        assert composer.text == "ab"
        await pilot.press("ctrl+z", "left", "delete")
        assert composer.text == "ab"
        line.value = f"a{piece}b"
        line.focus()
        await pilot.press("end", "left", "left")
        assert line.cursor_position == 1
        await pilot.press("right", "backspace")
        assert line.value == "ab"


async def test_a_click_within_a_character_goes_beside_it() -> None:
    app = Desk()
    async with app.run_test(size=(40, 8)) as pilot:
        composer = app.query_one(Composer)
        composer.load(f"{FAMILY}{HINDI}{FLAG}")
        for x in range(8):
            await pilot.click(Composer, offset=(x, 0))
            assert composer.cursor_location[1] in boundaries(composer.text)


async def test_the_cursor_is_drawn_over_all_of_a_character() -> None:
    app = Desk()
    async with app.run_test(size=(40, 8)) as pilot:
        composer = app.query_one(Composer)
        composer.cursor_blink = False
        composer.load(f"a{FAMILY}b")
        await pilot.press("left", "left")
        pieces = [segment.text for segment in composer.render_line(0)]
        assert FAMILY in pieces


async def test_a_folded_paste_is_one_character() -> None:
    app = Desk()
    async with app.run_test(size=(60, 8)) as pilot:
        composer = app.query_one(Composer)
        text = "\x1b[2J\x00 \u202e line\n" * 12
        await pilot.press("a", "space")
        composer.post_message(Paste(text))
        await pilot.press("space", "b")
        token = composer.text[2:-2]
        assert token.startswith("[pasted #1") and composer.prompt == f"a {text} b"
        await pilot.press("left", "left", "left")
        assert composer.cursor_location == (0, 2)
        await pilot.press("alt+delete")
        assert composer.prompt == "a  b", composer.text
        await pilot.press("ctrl+z", "end", "left", "left", "ctrl+w")
        assert composer.prompt == "a  b"
        await pilot.press("ctrl+z", "home", "shift+end", "ctrl+c")
        assert app.clipboard == f"a {text} b"
        await pilot.press("ctrl+x", "ctrl+v")
        assert composer.prompt == f"a {text} b"
        assert composer.text.startswith("[pasted #2")
        await pilot.press("ctrl+z", "ctrl+z")
        assert composer.text == f"a {token} b"
