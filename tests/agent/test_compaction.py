"""Where a conversation is cut, and the summary that the program puts together: pure, whatever the history."""

from __future__ import annotations

from dataclasses import replace
from time import process_time

from hypothesis import given, settings
from hypothesis import strategies as st

from local_agent.agent.compaction import Cut, choose
from local_agent.agent.summaries import clipped, instruction, put_together, transcript, useless
from local_agent.domain.budget import text_tokens
from local_agent.domain.entries import Entry, Kind, ToolCall
from local_agent.domain.marks import Mark, mark_text, marks_of
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import Reply
from local_agent.domain.requests import answered_questions
from local_agent.domain.sections import weigh_path
from local_agent.domain.summaries import SummaryNote
from local_agent.domain.tree import model_facing
from tests.domain.histories import add, damaged_paths, growing_paths

HAN = "测试之前先复制文件夹，然后测试等待复制完成。最后比较两个文件夹的内容。"


def turn(path: list[Entry], question: str, answer: str) -> Entry:
    asked = add(path, Kind.QUESTION, question)
    add(path, Kind.ASSISTANT, answer)
    return asked


def cut(path: list[Entry], window: int, beside: int = 100, **how: bool) -> Cut | None:
    return choose(path, weigh_path(path).turns, window, beside, **how)


def after(path: list[Entry], made: Cut, text: str = "a summary") -> list[Entry]:
    """The path behind the summary."""
    note = SummaryNote(stay=made.stay).text
    return [*path, *([add(list(path), Kind.SUMMARY, text, context=note, kept_from=made.kept_from)])]


def questions(path: list[Entry]) -> list[str]:
    return [entry.text for entry in model_facing(path) if entry.kind is Kind.QUESTION]


@settings(max_examples=100)
@given(damaged_paths(), st.sampled_from([64, 512, 4096]), st.integers(0, 600), st.booleans(), st.booleans())
def test_any_history_is_cut_or_left_alone(
    path: list[Entry], window: int, beside: int, asked_for: bool, needed: bool
) -> None:
    made = cut(path, window, beside, asked_for=asked_for, needed=needed)
    if made is not None:
        assert made.gain > 0 and made.left and made.room > 0
        assert len(transcript(path, made.left, "earlier", 300).encode()) <= 400
        assert len(put_together(path, made.left, "earlier", 300).encode()) <= 300


@settings(max_examples=100)
@given(growing_paths(), st.lists(st.sampled_from(Mark), max_size=4))
def test_what_leaves_and_what_stays_are_all_that_was_sent(
    paths: list[list[Entry]], wishes: list[Mark]
) -> None:
    path = paths[-1][:-1]
    for asked, wish in zip([e for e in path if e.kind is Kind.QUESTION], wishes, strict=False):
        add(path, Kind.MARKER, mark_text(wish, asked.id))
    made = cut(path, 64, asked_for=True, needed=True)
    if made is None:
        return
    left = {entry.id for entry in made.left}
    seen = {e.id for e in model_facing(path)} - {e.id for e in path if e.kind is Kind.RESULT}
    stays = {entry.id for entry in model_facing(after(path, made))}
    marks = marks_of(path)
    assert not left & stays
    told = {e.id for e in answered_questions(path)}
    for asked in (e for e in path if e.kind is Kind.QUESTION and e.id in seen):
        said = marks.get(asked.id)
        assert said is not Mark.PIN or asked.id in stays
        assert said is not Mark.DROP or asked.id not in left
        assert said is not None or asked.id in left | stays or asked.id not in told


def test_the_newest_turns_that_fill_a_quarter_stay_and_a_long_last_one_up_to_a_half() -> None:
    path: list[Entry] = []
    for number in range(10):
        turn(path, f"q{number}", "x" * 720)  # 200 tokens and a little
    made = cut(path, 2048)
    assert made is not None and questions(after(path, made)) == ["q8", "q9"]
    turn(path, "long", "x" * 3400)
    made = cut(path, 2048)
    assert made is not None and questions(after(path, made)) == ["long"]
    turn(path, "too long", "x" * 4000)
    made = cut(path, 2048)
    assert made is not None and made.kept_from is None and made.gain > 2048 // 16


def test_nothing_is_cut_where_that_gains_too_little() -> None:
    path: list[Entry] = []
    turn(path, "q0", "x" * 300)
    turn(path, "q1", "x" * 2600)
    assert cut(path, 2048) is None, "a summary would be as long as what it replaces"
    assert cut([], 2048) is None and cut(path[:1], 2048) is None
    made = cut(path, 2048, asked_for=True)
    assert made is not None and "q1" not in questions(after(path, made))


def test_what_a_summary_kept_is_where_the_next_one_begins_and_pins_never_bring_back_more() -> None:
    path: list[Entry] = []
    first = turn(path, "q0", "x" * 720)
    for number in range(1, 8):
        turn(path, f"q{number}", "x" * 720)
    add(path, Kind.MARKER, mark_text(Mark.PIN, first.id))
    made = cut(path, 2048)
    assert made is not None
    path = after(path, made)
    assert questions(path) == ["q0", "q6", "q7"]
    # All of it fits by now; what had left stays away all the same.
    again = cut(path, 64_000, asked_for=True)
    assert again is not None and {e.text for e in again.left if e.kind is Kind.QUESTION} == {"q6"}
    assert questions(after(path, again)) == ["q0", "q7"]


def test_forgotten_pictures_of_a_pinned_turn_stay_forgotten() -> None:
    picture = Picture("c" * 64, "x.png", "image/png", 9, 2, 2)
    path: list[Entry] = []
    asked = add(path, Kind.QUESTION, "", pictures=(picture,))
    add(path, Kind.ASSISTANT, "a cat")
    forgotten = add(path, Kind.MARKER, "pictures forgotten")
    pin = add(path, Kind.MARKER, mark_text(Mark.PIN, asked.id))
    for number in range(9):
        turn(path, f"q{number}", "x" * 720)
    made = cut(path, 2048)
    assert made is not None
    assert made.stay == ((asked.id, asked.id + 1), (forgotten.id, forgotten.id), (pin.id, pin.id))


def test_ten_thousand_entries_are_cut_in_a_moment() -> None:
    example: list[Entry] = []
    turn(example, "q", "x" * 300)
    path = [
        replace(entry, id=2 * number + entry.id, parent=2 * number + entry.id - 1)
        for number in range(5_000)
        for entry in example
    ]
    turns = weigh_path(path).turns
    began = process_time()
    made = choose(path, turns, 4096, 100, needed=True)
    assert made is not None
    told = transcript(path, made.left, "", 8_000), put_together(path, made.left, "", 2_000)
    assert process_time() - began < 3
    assert [len(text.encode()) <= most for text, most in zip(told, (8_100, 2_000), strict=True)] == [
        True,
        True,
    ]


def test_a_transcript_tells_who_said_what_and_results_as_lines() -> None:
    path: list[Entry] = []
    picture = Picture("c" * 64, "cat.png", "image/png", 9, 2, 2)
    add(path, Kind.QUESTION, "", pictures=(picture,))
    reply = add(path, Kind.ASSISTANT, "Hm.", calls=(ToolCall("c", "write", {"path": "a.py"}),))
    add(path, Kind.RESULT, "done\n" + "line\n" * 500, parent=reply.id, call_number=0)
    add(path, Kind.ASSISTANT, HAN)
    left = [entry for entry in path if entry.kind is not Kind.RESULT]
    text = transcript(path, left, "They began.", 4_000)
    assert text.split("\n\n")[:3] == [
        "Summary of what came before:\nThey began.",
        "Person: (pictures: cat.png)",
        "Assistant: Hm.",
    ]
    assert 'Assistant called write {"path": "a.py"} -> 2,505 bytes: done line' in text and HAN in text
    told = put_together(path, left, "They began.", 2_000)
    assert "- (pictures: cat.png)" in told and "- write a.py" in told and "They began." in told


@given(st.text(), st.integers(0, 60), st.booleans())
def test_what_is_clipped_is_no_longer_than_it_may_be(text: str, limit: int, tail: bool) -> None:
    assert len(clipped(text, limit, tail=tail).encode("utf-8", "replace")) <= max(limit, 5)


def test_a_summary_in_another_script_is_weighed_by_what_it_takes() -> None:
    assert not useless(Reply(HAN), None, 4 * len(HAN))
    assert "longer" in useless(Reply(HAN), None, len(HAN))
    assert text_tokens(instruction(1024, "the tests")) < 200, "short enough for the smallest window"
