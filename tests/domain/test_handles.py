"""Handles: what is one, and what is offered in place of what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import UsageError
from local_agent.domain.graphemes import clusters
from local_agent.domain.handles import new_handle, offer, parse_handle

KNOWN = ("a1b2c3d", "a1b2fff", "0000001", "9f9f9f9")


def refusal(text: str, known: tuple[str, ...] = KNOWN) -> UsageError:
    with pytest.raises(UsageError) as caught:
        parse_handle(text, known)
    return caught.value


def test_new_handles_are_handles() -> None:
    drawn = {new_handle() for _ in range(200)}
    assert len(drawn) == 200
    assert all(parse_handle(handle) == handle for handle in drawn)


@pytest.mark.parametrize("text", ["a1b2c3d", "A1B2C3D", "  a1b2C3d\n"])
def test_a_handle_is_trimmed_and_any_letter_case_is_taken(text: str) -> None:
    assert parse_handle(text) == "a1b2c3d"


@pytest.mark.parametrize(
    "text", ["", "42", "S42", "a1b2c3", "a1b2c3d4", "a1b", "g1b2c3d", "a1b2 c3d", "１２３４５６７"]
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    error = refusal(text)
    assert "seven hex digits" in error.line
    assert error.exit_code == 2
    assert "\n" not in str(error)


@pytest.mark.parametrize(
    ("text", "offered"),
    [
        ("a1b2c3", "a1b2c3d"),
        ("a1b2c3d4", "a1b2c3d"),
        ("a1b2c3e", "a1b2c3d"),
        ("9f9", "9f9f9f9"),
        ("a1b2", "a1b2c3d or a1b2fff"),
    ],
)
def test_the_closest_handles_are_offered(text: str, offered: str) -> None:
    assert f"Did you mean {offered}" in offer(text, KNOWN)


def test_with_nothing_close_the_list_is_named() -> None:
    assert "session list" in refusal("zzzz").hint
    assert "session list" in refusal("a1b2c3", ()).hint


@given(st.text(st.characters()))
def test_no_input_breaks_the_refusal(text: str) -> None:
    try:
        assert parse_handle(text, KNOWN) == text.strip().lower()
    except UsageError as error:
        assert str(error).splitlines() == [str(error)]
        assert len(list(clusters(error.line))) < 150


def test_a_pasted_page_is_refused_quickly() -> None:
    assert len(str(refusal("abc " * 500_000))) < 250
