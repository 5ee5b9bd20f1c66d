"""Replies that go round in circles."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.agent.repetition import RepetitionWatch, repeats

PROSE = " ".join(f"Sentence number {number} says something else than the others." for number in range(200))


@pytest.mark.parametrize(
    ("text", "repeated"),
    [
        ("x" * 600, True),
        ("x" * 599, False),
        ("ab" * 300, True),
        (PROSE[:200] * 3, True),
        (PROSE[:200] * 2, False),
        (PROSE[:733] * 3, True),
        (PROSE[:733] * 2 + PROSE[:200], False),
        (PROSE, False),
        (PROSE[:500] + "no no " * 100, True),
        (PROSE[:200] * 3 + "!", False),
        ("", False),
    ],
)
def test_three_times_in_a_row_is_a_circle(text: str, repeated: bool) -> None:
    assert repeats(text) is repeated


@given(st.text(min_size=1, max_size=600), st.text(max_size=50))
def test_any_block_is_found_after_a_while_however_it_arrives(block: str, before: str) -> None:
    watch = RepetitionWatch()
    pieces = [before, *[block] * (800 // len(block) + 4)]
    assert any([watch.feed(piece) for piece in pieces])


@given(st.integers(1, 60))
def test_prose_is_none_however_it_is_cut(size: int) -> None:
    watch = RepetitionWatch()
    assert not any(watch.feed(PROSE[start : start + size]) for start in range(0, len(PROSE), size))
