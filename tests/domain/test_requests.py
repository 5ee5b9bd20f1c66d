"""The request builder: valid for any stored history, growing only at its end."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, EntryStatus, Kind, ToolCall
from local_agent.domain.marks import Mark, mark_text
from local_agent.domain.pictures import Picture
from local_agent.domain.requests import (
    DROPPED,
    MISSING,
    NO_ANSWER,
    NO_OUTPUT,
    NOT_RUN,
    UNCERTAIN,
    UNREADABLE_RESULT,
    Message,
    build_messages,
    with_pictures_of,
)
from tests.domain.histories import add, any_text, damaged_paths, growing_paths

READ = ToolCall("call_1", "read", {"path": "a.txt"})
BASH = ToolCall("call_2", "bash", {"command": "ls"})


def roles(messages: Sequence[Message]) -> list[str]:
    return [message.role for message in messages]


def texts(messages: Sequence[Message]) -> list[str]:
    return [message.content for message in messages]


def assert_valid(messages: Sequence[Message]) -> None:
    """What the strictest chat template demands of a list of messages."""
    body = [message for message in messages if message.role != "system"]
    assert "system" not in roles(messages)[1:]
    assert not body or body[0].role == "user"
    for message in messages:
        assert message.content.strip() or message.calls or message.pictures
        assert message.role == "user" or not message.pictures
        assert message.role == "assistant" or not (message.calls or message.thinking)
    for before, after in itertools.pairwise(body):
        allowed = {
            "user": {"assistant"},
            "assistant": {"tool"} if before.calls else {"user"},
            "tool": {"tool", "assistant"},
        }
        assert after.role in allowed[before.role]
    assert_calls_answered(body)


def assert_calls_answered(body: Sequence[Message]) -> None:
    """Every call has one tool message, right after its message and in call order; none is left over."""
    left_over = roles(body).count("tool")
    for place, message in enumerate(body):
        answers = body[place + 1 : place + 1 + len(message.calls)]
        assert [(a.role, a.tool_name, a.tool_call_id) for a in answers] == [
            ("tool", call.name, call.id) for call in message.calls
        ]
        left_over -= len(answers)
    assert left_over == 0


@given(any_text, damaged_paths(), st.booleans())
def test_any_history_becomes_a_valid_list(system: str, path: list[Entry], asking: bool) -> None:
    messages = build_messages(system, path, asking=asking)
    assert_valid(messages)
    assert messages == build_messages(system, path, asking=asking)


@given(damaged_paths(), st.sets(st.sampled_from(["a" * 64, "b" * 64])))
def test_whatever_pictures_are_left_out_the_list_stays_valid(path: list[Entry], digests: set[str]) -> None:
    messages = build_messages("", path)
    left = with_pictures_of(messages, digests)
    assert_valid(left)
    assert roles(left) == roles(messages)
    carried = [picture for message in messages for picture in message.pictures]
    assert [p for message in left for p in message.pictures] == [p for p in carried if p.sha256 in digests]


@given(any_text, damaged_paths())
def test_any_history_can_be_encoded(system: str, path: list[Entry]) -> None:
    for message in build_messages(system, path):
        calls = [[call.id, call.name, call.arguments] for call in message.calls]
        parts = [message.content, message.thinking, message.tool_name, message.tool_call_id]
        json.dumps([*parts, calls], ensure_ascii=False).encode("utf-8")


@given(damaged_paths(), any_text.filter(str.strip))
def test_a_request_ends_with_what_is_asked(path: list[Entry], text: str) -> None:
    fresh = [entry for entry in path if entry.kind not in (Kind.SUMMARY, Kind.COMMAND)]
    question = Entry(99, 1, None, None, Kind.QUESTION, path[0].origin if path else "person", text)  # type: ignore[arg-type] # any origin will do
    messages = build_messages("", [*fresh, question])
    assert messages[-1].role == "user"
    assert texts(messages)[-1] == texts(build_messages("", [question]))[-1]


@given(growing_paths())
def test_each_request_begins_with_all_of_the_one_before(paths: list[list[Entry]]) -> None:
    requests = [build_messages("Be brief.", path) for path in paths]
    for earlier, later in itertools.pairwise(requests):
        assert later[: len(earlier)] == earlier
    assert all(messages[-1].role in ("user", "tool") for messages in requests)


def test_results_are_sent_in_call_order_whatever_order_they_came_in() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "look")
    answer = add(path, Kind.ASSISTANT, "", calls=(READ, BASH))
    add(path, Kind.RESULT, "listing", parent=answer.id, call_number=1)
    add(path, Kind.RESULT, "text of a.txt", parent=answer.id, call_number=0)
    add(path, Kind.RESULT, "written twice", parent=answer.id, call_number=0)
    add(path, Kind.RESULT, "for a call that was never made", parent=answer.id, call_number=7)
    messages = build_messages("", path)
    assert texts(messages) == ["look", "", "text of a.txt", "listing"]
    assert messages == build_messages("", [*reversed(path[2:]), *path[:2]])


def test_calls_without_a_usable_result_are_answered_in_plain_words() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "look")
    answer = add(path, Kind.ASSISTANT, "", calls=(READ, BASH, READ))
    add(path, Kind.RESULT, "", parent=answer.id, call_number=1)
    add(path, Kind.RESULT, "", parent=answer.id, call_number=2, readable=False)
    add(path, Kind.QUESTION, "and now?")
    messages = build_messages("", path)
    assert texts(messages) == ["look", "", NOT_RUN, NO_OUTPUT, UNREADABLE_RESULT, NO_ANSWER, "and now?"]


def test_a_question_without_an_answer_is_sent_only_while_it_is_asked() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "failed")
    assert texts(build_messages("", path)) == ["failed"]
    assert build_messages("", path, asking=False) == ()
    add(path, Kind.ASSISTANT, " \n", thinking="only thinking")
    add(path, Kind.QUESTION, "again")
    assert texts(build_messages("", path)) == ["again"]


def test_pictures_go_with_their_question_until_they_are_forgotten() -> None:
    cat, dog = (Picture(letter * 64, "x.png", "image/png", 9, 2, 2) for letter in "cd")
    path: list[Entry] = []
    add(path, Kind.QUESTION, "", pictures=(cat,))
    add(path, Kind.ASSISTANT, "A cat.")
    add(path, Kind.QUESTION, "failed", pictures=(cat, dog))
    add(path, Kind.QUESTION, "and this?", pictures=(dog, cat))
    add(path, Kind.ASSISTANT, "A dog.")
    assert [m.pictures for m in build_messages("", path)] == [(cat,), (), (dog, cat), ()]
    assert texts(build_messages("", path)) == ["", "A cat.", "and this?", "A dog."]
    add(path, Kind.MARKER, PICTURES_FORGOTTEN)
    add(path, Kind.QUESTION, "more", pictures=(dog,))
    assert [m.pictures for m in build_messages("", path)] == [(), (), (), (), (dog,)]
    assert texts(build_messages("", path))[0] == MISSING
    assert [m.pictures for m in build_messages("", path[:5])] == [(cat,), (), (dog, cat), ()], (
        "another branch"
    )


def test_a_summary_keeps_the_pictures_of_what_it_keeps() -> None:
    cat, dog = (Picture(letter * 64, "x.png", "image/png", 9, 2, 2) for letter in "cd")
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one", pictures=(cat,))
    add(path, Kind.ASSISTANT, "1")
    kept = add(path, Kind.QUESTION, "two", pictures=(dog,))
    add(path, Kind.ASSISTANT, "2")
    add(path, Kind.SUMMARY, "One was one.", kept_from=kept.id)
    assert [m.pictures for m in build_messages("", path)] == [(dog,), ()]


def test_an_interrupted_reply_is_part_of_the_next_request() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one")
    add(path, Kind.ASSISTANT, "half of", status=EntryStatus.INTERRUPTED)
    add(path, Kind.ASSISTANT, "the whole")
    add(path, Kind.QUESTION, "two")
    assert texts(build_messages("", path)) == ["one", "half of\n\nthe whole", "two"]


def test_an_answer_keeps_its_place_when_its_question_is_unreadable() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "", readable=False)
    add(path, Kind.ASSISTANT, "answer")
    add(path, Kind.QUESTION, "next")
    assert texts(build_messages("", path)) == [MISSING, "answer", "next"]


def test_an_unreadable_answer_leaves_with_its_question() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one")
    add(path, Kind.ASSISTANT, "", readable=False)
    add(path, Kind.QUESTION, "two")
    assert texts(build_messages("", path)) == ["two"]


def test_a_summary_stands_for_what_came_before_the_kept_entries() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "old")
    add(path, Kind.ASSISTANT, "old answer")
    kept = add(path, Kind.QUESTION, "kept")
    add(path, Kind.ASSISTANT, "kept answer")
    add(path, Kind.SUMMARY, "they spoke", kept_from=kept.id)
    add(path, Kind.QUESTION, "new")
    assert texts(build_messages("", path)) == [
        "Summary of the conversation so far:\nthey spoke\n\nkept",
        "kept answer",
        "new",
    ]


def test_a_summary_that_keeps_an_answer_alone_speaks_before_it() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "old")
    kept = add(path, Kind.ASSISTANT, "kept answer")
    add(path, Kind.SUMMARY, "they spoke", kept_from=kept.id)
    messages = build_messages("", path, asking=False)
    assert texts(messages) == ["Summary of the conversation so far:\nthey spoke", "kept answer"]


def test_context_stands_before_the_question() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "what day is it?", context="Date: 2026-07-31")
    assert texts(build_messages("Be brief.", path)) == ["Be brief.", "Date: 2026-07-31\n\nwhat day is it?"]


def test_a_path_that_names_an_entry_twice_sends_it_once() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one")
    add(path, Kind.ASSISTANT, "answer")
    assert build_messages("", [*path, *path]) == build_messages("", path)


MAKE = ToolCall("c", "bash", {"command": "make"})


def ran(path: list[Entry], command: str, output: str) -> Entry:
    entry = add(path, Kind.COMMAND, command, calls=(MAKE,))
    return add(path, Kind.RESULT, output, parent=entry.id, call_number=0)


def test_what_a_person_ran_stands_before_the_next_question() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "one")
    add(path, Kind.ASSISTANT, "1")
    ran(path, "make", "ok\ndone")
    ran(path, "make test", "")
    assert roles(build_messages("", path))[-1] == "user"
    add(path, Kind.QUESTION, "why?", context="Date: today")
    assert texts(build_messages("", path)) == [
        "one",
        "1",
        "I ran a command myself:\n\n    $ make\n    ok\n    done\n\n"
        f"I ran a command myself:\n\n    $ make test\n    {NO_OUTPUT}\n\n"
        "Date: today\n\nwhy?",
    ]


def test_a_command_outlives_a_question_that_nothing_answered() -> None:
    path: list[Entry] = []
    ran(path, "make", "ok")
    add(path, Kind.QUESTION, "failed")
    ran(path, "make again", "ok")
    add(path, Kind.QUESTION, "and now?")
    (message,) = build_messages("", path)
    assert "failed" not in message.content
    assert message.content.index("make") < message.content.index("make again") < message.content.index("now?")


@given(growing_paths())
def test_every_output_of_a_command_is_sent_once(paths: list[list[Entry]]) -> None:
    path = paths[-1]
    sent = "\n".join(message.content for message in build_messages("", path))
    assert sent.count("I ran a command myself:\n\n    $ make\n") == sum(e.kind is Kind.COMMAND for e in path)


def test_a_call_whose_outcome_nobody_knows_says_so_until_it_is_settled() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "run it")
    answer = add(path, Kind.ASSISTANT, "", calls=(BASH, READ))
    messages = build_messages("", path, uncertain={(answer.id, 0)})
    assert texts(messages) == ["run it", "", UNCERTAIN, NOT_RUN]
    add(path, Kind.RESULT, "It was done.", parent=answer.id, call_number=0)
    assert texts(build_messages("", path, uncertain={(answer.id, 0)}))[2] == "It was done."


def test_a_result_may_be_sent_shortened() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "look")
    answer = add(path, Kind.ASSISTANT, "", calls=(READ,))
    result = add(path, Kind.RESULT, "x" * 1000, parent=answer.id, call_number=0)
    assert texts(build_messages("", path, shortened={result.id: "(left out)"}))[-1] == "(left out)"


def test_the_call_of_a_result_that_gave_way_is_cut_and_its_neighbour_is_not() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "write")
    written = {"path": "a", "content": "é" * 5_000, "lines": list(range(1_000)), "mode": 3}
    calls = (ToolCall("c1", "write", written), ToolCall("c2", "write", written))
    answer = add(path, Kind.ASSISTANT, "", calls=calls)
    result = add(path, Kind.RESULT, "", parent=answer.id, call_number=0)
    messages = build_messages("", path, shortened={result.id: ""})
    first, second = messages[1].calls
    assert second.arguments == written and texts(messages)[2] == NO_OUTPUT
    assert (first.arguments["path"], first.arguments["mode"]) == ("a", 3)
    left = " (of 5,000 characters the rest is left out to save room)"
    assert first.arguments["content"] == "é" * 200 + left
    assert len(json.dumps(first.arguments)) < 2_500


def marked(path: Sequence[Entry], mark: Mark, entry: Entry) -> list[Entry]:
    """The path with what the person says of one of its entries."""
    whole = list(path)
    add(whole, Kind.MARKER, mark_text(mark, entry.id))
    return whole


def two_turns() -> tuple[list[Entry], Entry, Entry]:
    path: list[Entry] = []
    first = add(path, Kind.QUESTION, "look", context="Date: today")
    answer = add(path, Kind.ASSISTANT, "I look.", calls=(READ,))
    result = add(path, Kind.RESULT, "text of a.txt", parent=answer.id, call_number=0)
    add(path, Kind.ASSISTANT, "It says so.")
    add(path, Kind.QUESTION, "and then?")
    add(path, Kind.ASSISTANT, "Then nothing.")
    return path, first, result


def test_a_turn_that_the_person_dropped_is_left_out_whole_until_it_is_freed() -> None:
    path, first, _ = two_turns()
    dropped = marked(path, Mark.DROP, first)
    add(dropped, Kind.QUESTION, "go on")
    assert texts(build_messages("", dropped)) == ["and then?", "Then nothing.", "go on"]
    again = marked(dropped[:-1], Mark.FREE, first)
    assert build_messages("", again) == build_messages("", path)
    assert build_messages("", marked(path, Mark.PIN, first)) == build_messages("", path)


def test_a_dropped_result_is_one_line_and_its_call_stays() -> None:
    path, _, result = two_turns()
    messages = build_messages("", marked(path, Mark.DROP, result))
    before = build_messages("", path)
    assert [(old.content, new.content) for old, new in zip(before, messages, strict=True) if old != new] == [
        ("text of a.txt", DROPPED)
    ]


def test_the_question_being_asked_is_never_left_out() -> None:
    path: list[Entry] = []
    asked = add(path, Kind.QUESTION, "look")
    answer = add(path, Kind.ASSISTANT, "", calls=(READ,))
    add(path, Kind.RESULT, "text of a.txt", parent=answer.id, call_number=0)
    dropped = marked(path, Mark.DROP, asked)
    assert build_messages("", dropped) == build_messages("", path)
    assert build_messages("", dropped, asking=False) == ()


@given(growing_paths(), st.data())
def test_of_what_is_dropped_nothing_is_sent_and_the_rest_as_it_was(
    paths: list[list[Entry]], data: st.DataObject
) -> None:
    path = paths[-1]
    questions = [entry for entry in path if entry.kind in (Kind.QUESTION, Kind.COMMAND)]
    gone = data.draw(st.sampled_from(questions[:-1] or questions))
    end = next((e.id for e in questions if e.id > gone.id), path[-1].id + 1)
    turn = {entry.id for entry in path if gone.id <= entry.id < end}
    without = [entry for entry in path if entry.id not in turn]
    messages = build_messages("", marked(path, Mark.DROP, gone))
    assert_valid(messages)
    if gone is not questions[-1]:
        assert messages == build_messages("", without)


def test_a_trimmed_result_leaves_its_call_as_it_was() -> None:
    path: list[Entry] = []
    add(path, Kind.QUESTION, "look")
    long = ToolCall("call_1", "read", {"path": "p" * 1_000})
    answer = add(path, Kind.ASSISTANT, "", calls=(long,))
    result = add(path, Kind.RESULT, "r" * 9_000, parent=answer.id, call_number=0)
    messages = build_messages("", path, trimmed={result.id: "rr"})
    assert (messages[1].calls, messages[2].content) == ((long,), "rr")
