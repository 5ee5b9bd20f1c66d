"""Estimates of tokens."""

from __future__ import annotations

from hypothesis import given

from local_agent.domain.budget import estimate_tokens
from local_agent.domain.entries import Entry, ToolCall
from local_agent.domain.pictures import Picture
from local_agent.domain.requests import Message, build_messages
from local_agent.domain.tools import ToolSpec
from tests.domain.histories import damaged_paths


def test_prose_is_estimated_to_the_safe_side() -> None:
    assert 250 <= estimate_tokens([Message("user", "four" * 250)]) <= 320


def test_arguments_of_calls_weigh_too() -> None:
    call = ToolCall("1", "write", {"text": "x" * 3600})
    assert estimate_tokens([Message("assistant", "", calls=(call,))]) > 1000


def test_tools_weigh_what_is_written_of_them() -> None:
    spec = ToolSpec("read", "x" * 360, {"type": "object", "properties": {"path": {"type": "string"}}})
    assert 120 < estimate_tokens([], [spec]) < 160


def test_a_picture_weighs_what_a_server_counts_for_one() -> None:
    picture = Picture("a" * 64, "x.png", "image/png", 9, 2, 2)
    bare = estimate_tokens([Message("user", "What?")])
    assert estimate_tokens([Message("user", "What?", pictures=(picture, picture))]) == bare + 2 * 768


@given(damaged_paths())
def test_more_messages_never_weigh_less(path: list[Entry]) -> None:
    messages = build_messages("system", path)
    weights = [estimate_tokens(messages[:count]) for count in range(len(messages) + 1)]
    assert weights == sorted(weights)
