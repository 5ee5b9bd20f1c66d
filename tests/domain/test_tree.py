"""Walks over the tree."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, Kind
from local_agent.domain.pictures import Picture
from local_agent.domain.tree import model_facing, without_forgotten_pictures, words_of
from tests.domain.histories import add, damaged_paths


@given(damaged_paths())
def test_what_the_model_sees_is_a_selection_with_at_most_one_telling_summary(path: list[Entry]) -> None:
    facing = model_facing(path)
    assert all(entry in path for entry in facing)
    telling = [e for e in facing if e.kind is Kind.SUMMARY and e.readable and e.text.strip()]
    assert telling == facing[: len(telling)]
    assert len(telling) <= 1


def conversation_with_two_summaries() -> list[Entry]:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one")
    add(path, Kind.ASSISTANT, "first")
    kept_once = add(path, Kind.QUESTION, "two")
    add(path, Kind.ASSISTANT, "second")
    add(path, Kind.SUMMARY, "about one", kept_from=kept_once.id)
    kept_twice = add(path, Kind.QUESTION, "three")
    add(path, Kind.ASSISTANT, "third")
    add(path, Kind.SUMMARY, "about one and two", kept_from=kept_twice.id)
    add(path, Kind.QUESTION, "four")
    return path


def shown(path: list[Entry]) -> list[str]:
    return [entry.text for entry in model_facing(path)]


def test_the_newest_summary_replaces_what_it_does_not_keep() -> None:
    path = conversation_with_two_summaries()
    assert shown(path) == ["about one and two", "three", "third", "four"]


def test_a_summary_may_keep_entries_from_before_an_earlier_summary() -> None:
    path = conversation_with_two_summaries()
    path[7] = replace(path[7], kept_from=path[2].id)
    assert shown(path) == ["about one and two", "two", "second", "three", "third", "four"]


def test_a_summary_that_keeps_nothing_stands_alone() -> None:
    path = conversation_with_two_summaries()
    path[7] = replace(path[7], kept_from=None)
    assert shown(path) == ["about one and two", "four"]


def test_an_unreadable_summary_gives_way_to_the_one_before() -> None:
    path = conversation_with_two_summaries()
    path[7] = replace(path[7], readable=False)
    assert shown(path)[:5] == ["about one", "two", "second", "three", "third"]


def test_what_forgetting_pictures_leaves_is_said_in_words() -> None:
    picture = Picture("c" * 64, "x.png", "image/png", 9, 2, 2)
    path: list[Entry] = []
    add(path, Kind.QUESTION, "", pictures=(picture,))
    add(path, Kind.QUESTION, "What?", pictures=(picture,))
    assert [words_of(entry) for entry in without_forgotten_pictures(path)] == ["", "What?"]
    add(path, Kind.MARKER, PICTURES_FORGOTTEN)
    assert [words_of(entry) for entry in without_forgotten_pictures(path)] == [
        "(only pictures, forgotten since)",
        "What?",
        "Earlier pictures are left out from here on.",
    ]
    assert [entry.pictures for entry in without_forgotten_pictures(path[:1], behind=3)] == [()]
    assert [entry.pictures for entry in without_forgotten_pictures(path[:2], behind=1)] == [(picture,)] * 2
