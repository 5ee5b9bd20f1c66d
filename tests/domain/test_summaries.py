"""What is noted with a summary, and what a path shows the model because of it."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.entries import Entry, Kind
from local_agent.domain.summaries import SummaryNote, read_note, within
from local_agent.domain.tree import model_facing
from tests.domain.histories import add

numbers = st.integers(0, 2**63 - 1)


@given(st.builds(SummaryNote, numbers, numbers, numbers, st.lists(st.tuples(numbers, numbers)).map(tuple)))
def test_what_is_noted_is_read_again(note: SummaryNote) -> None:
    assert read_note(note.text) == note


@given(st.text() | st.text("letoknsay 0123456789-\n", max_size=40))
def test_any_other_text_notes_nothing_that_it_does_not_say(text: str) -> None:
    note = read_note(text)
    assert all(str(number) in text for number in (note.left, note.tokens_before) if number)


def test_a_pinned_turn_stays_before_what_is_kept() -> None:
    path: list[Entry] = []
    for number in range(1, 5):
        add(path, Kind.QUESTION, f"question {number}")
        add(path, Kind.ASSISTANT, f"answer {number}")
    add(path, Kind.SUMMARY, "of 2 and 3", kept_from=path[6].id)
    path[-1] = replace(path[-1], context=SummaryNote(4, 90, 40, ((1, 2),)).text)
    add(path, Kind.QUESTION, "question 5")
    said = [entry.text for entry in model_facing(path)]
    pinned, kept = ["question 1", "answer 1"], ["question 4", "answer 4"]
    assert said == ["of 2 and 3", *pinned, *kept, "question 5"]
    assert within(2, ((1, 2),)) and not within(3, ((1, 2), (4, 4)))
