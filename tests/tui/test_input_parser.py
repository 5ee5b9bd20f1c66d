"""Pastes between brackets, however the terminal's bytes are cut into pieces."""

from __future__ import annotations

from itertools import pairwise
from time import process_time

from hypothesis import given
from hypothesis import strategies as st
from textual import events

from local_agent.tui.device.input_parser import InputParser

START, END = "\x1b[200~", "\x1b[201~"
PIECES = (
    "a",
    "\x1b",
    "[",
    "2",
    "01~",
    "\x1b[31m",
    "\x1b]0;t\x07",
    "\r",
    "\x00",
    "\u202e",
    "\x1b[200~",
    "e\u0301",
)
pastes = (
    st.lists(st.sampled_from(PIECES), max_size=40).map("".join).filter(lambda text: END not in text + END[:5])
)


def tokens(data: str, cuts: list[int]) -> list[events.Event]:
    parser = InputParser()
    found: list[events.Event] = []
    places = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for begin, end in pairwise(places):
        found.extend(parser.feed(data[begin:end]))
    return found


@given(pastes, pastes, st.lists(st.integers(0, 300), max_size=8))
def test_a_paste_comes_as_it_is_and_keys_beside_it_are_keys(one: str, two: str, cuts: list[int]) -> None:
    found = tokens(f"x{START}{one}{END}y\x1b[A{START}{two}{END}z", cuts)
    seen = [token.text if isinstance(token, events.Paste) else token.key for token in found]
    assert seen == ["x", one, "y", "up", two, "z"]


def test_two_megabytes_are_taken_in_no_time() -> None:
    text = "some words of a line\r" * 100_000
    data = START + text + END
    begin = process_time()
    parser = InputParser()
    found = [
        token for place in range(0, len(data), 4096) for token in parser.feed(data[place : place + 4096])
    ]
    assert process_time() - begin < 0.5
    assert [token.text for token in found] == [text]
