"""What a request shares with the one before, and why it shares no more."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given

from local_agent.domain.context import Broken, Sent, Why, broken, origins_of, sent
from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, Kind, ToolCall
from local_agent.domain.marks import Mark, mark_text
from local_agent.domain.pictures import Picture
from local_agent.domain.requests import build_messages
from local_agent.domain.tools import ToolSpec
from tests.domain.histories import add, growing_paths

READ = ToolSpec("read", "Reads.", {"type": "object"})
PICTURE = Picture("a" * 64, "x.png", "image/png", 9, 2, 2)


def request(
    path: Sequence[Entry],
    *,
    system: str = "Be brief.",
    model: str = "m",
    window: int = 4096,
    options: Mapping[str, object] | None = None,
    tools: Sequence[ToolSpec] = (READ,),
    shortened: Mapping[int, str] | None = None,
) -> Sent:
    messages = build_messages(system, path, shortened=shortened)
    return sent(model, window, options or {}, messages, tools, origins_of(path, frozenset(shortened or ())))


@pytest.fixture
def path() -> list[Entry]:
    entries: list[Entry] = []
    add(entries, Kind.QUESTION, "one", pictures=(PICTURE,))
    add(entries, Kind.ASSISTANT, "1")
    add(entries, Kind.QUESTION, "two")
    add(entries, Kind.ASSISTANT, "2")
    return entries


def asked(path: Sequence[Entry], *more: tuple[Kind, str]) -> list[Entry]:
    whole = list(path)
    for kind, text in (*more, (Kind.QUESTION, "now?")):
        add(whole, kind, text, kept_from=3 if kind is Kind.SUMMARY else None)
    return whole


@given(growing_paths())
def test_a_session_that_only_goes_on_breaks_nothing(paths: list[list[Entry]]) -> None:
    for before, after in itertools.pairwise(paths):
        assert broken(request(before), request(after)) is None


def test_what_is_set_differently_is_read_from_the_beginning(path: list[Entry]) -> None:
    before = request(path)
    found = [
        broken(before, request(asked(path), model="other")),
        broken(before, request(asked(path), window=8192)),
        broken(before, request(asked(path), options={"num_gpu": 3})),
        broken(before, request(asked(path), tools=())),
        broken(before, request(asked(path), system="Be long.")),
    ]
    reasons = [Why.MODEL, Why.WINDOW, Why.OPTIONS, Why.TOOLS, Why.INSTRUCTIONS]
    assert found == [Broken(0, why) for why in reasons]
    assert broken(before, request(asked(path), options={"temperature": 2})) is None


def test_a_place_in_the_middle_has_its_reason(path: list[Entry]) -> None:
    before = request(path)
    forgetting, dropping = (Kind.MARKER, PICTURES_FORGOTTEN), (Kind.MARKER, mark_text(Mark.DROP, 1))
    assert broken(before, request(asked(path, (Kind.SUMMARY, "All that.")))) == Broken(1, Why.COMPACTION)
    assert broken(before, request(asked(path, forgetting))) == Broken(1, Why.PICTURES)
    assert broken(before, request(asked(path, dropping))) == Broken(1, Why.MARKS)
    assert broken(before, request(asked(path[:2]))) == Broken(3, Why.MOVED)
    assert broken(before, request([])) == Broken(1, Why.MOVED)


def test_the_way_back_from_a_summary_is_a_move(path: list[Entry]) -> None:
    compacted = request(asked(path, (Kind.SUMMARY, "All that.")))
    assert broken(compacted, request(asked(path))) == Broken(1, Why.MOVED)


def test_results_that_gave_way_are_named() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "look")
    answer = add(path, Kind.ASSISTANT, "I look.", calls=(ToolCall("c", "read", {"path": "a"}),))
    result = add(path, Kind.RESULT, "long " * 300, parent=answer.id, call_number=0)
    before = request(path)
    assert broken(before, request(path, shortened={result.id: "(out)"})) == Broken(3, Why.RESULTS)


def test_a_request_weighs_what_its_parts_weigh(path: list[Entry]) -> None:
    whole = request(path)
    assert whole.estimate == whole.tools_weight + sum(whole.weights) == whole.weight_from(0)
    assert whole.weight_from(2) == sum(whole.weights[2:]) < whole.estimate
    assert whole.weights[1] > 768  # its picture
