"""Answers on standard input: what is one, what is none, and when they count."""

from __future__ import annotations

import asyncio
import os

import pytest

from local_agent.domain.approvals import Answer, ApprovalRequest, Choice
from local_agent.domain.events import ApprovalAsked, QuestionAsked
from local_agent.domain.tools import Action
from local_agent.headless.approving import FromInput, Nobody, read_answer


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('{"id": "a1", "choice": "once"}', Answer(Choice.ONCE)),
        ('{"id": "a1", "choice": "no", "text": "not this"}', Answer(Choice.NO, text="not this")),
        ('{"id": "a1", "choice": "session", "hunks": null}', Answer(Choice.SESSION)),
        ('{"id": "a1", "choice": "once", "hunks": [2, 0]}', Answer(Choice.ONCE, frozenset({0, 2}))),
        ('{"id": "a1", "choice": "once", "hunks": [], "more": 1}', Answer(Choice.ONCE, frozenset())),
    ],
)
def test_an_answer(line: str, answer: Answer) -> None:
    assert read_answer(line) == ("a1", answer)


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("yes", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ('"once"', "no object with an id"),
        ('{"choice": "once"}', "no object with an id"),
        ('{"id": 7, "choice": "once"}', "no object with an id"),
        ('{"id": "a1"}', "choice must be one of no, once, request, session, workspace"),
        ('{"id": "a1", "choice": "YES"}', "choice must be one of"),
        ('{"id": "a1", "choice": ["once"]}', "choice must be one of"),
        ('{"id": "a1", "choice": "once", "hunks": "all"}', "hunks must be a list"),
        ('{"id": "a1", "choice": "once", "hunks": [true]}', "hunks must be a list"),
        ('{"id": "a1", "choice": "once", "hunks": [-1]}', "hunks must be a list"),
        ('{"id": "a1", "choice": "no", "text": 3}', "text must be text"),
    ],
)
def test_what_is_no_answer_says_why(line: str, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_answer(line)


def asked(key: str) -> ApprovalAsked:
    return ApprovalAsked(ApprovalRequest(key, "e1", "edit", Action.WRITE, "a.py", "It changes a file.", {}))


async def until_given(given: dict[str, Answer], count: int) -> None:
    async with asyncio.timeout(10):
        while len(given) < count:  # noqa: ASYNC110 - a thread gives them: there is nothing to be woken by
            await asyncio.sleep(0.01)


async def test_only_an_open_question_is_answered_and_the_end_says_no() -> None:
    reading, writing = os.pipe()
    said: list[str] = []
    given: dict[str, Answer] = {}

    def give(key: str, answer: Answer) -> bool:
        given[key] = answer
        return key != "over"

    with os.fdopen(writing, "wb", buffering=0) as sink:
        answers = FromInput(reading, said.append)
        answers.asked(asked("late"), give)
        sink.write(b'not an answer\n\n{"id": "wrong", "choice": "once"}\n{"id": "late", "choice": "once"}\n')
        await until_given(given, 1)
        assert given == {"late": Answer(Choice.ONCE)} and "This is no answer (no JSON)" in said[0]
        assert said[1] == "No question wrong is open: its answer counts for nothing."
        answers.asked(QuestionAsked("wrong", "e1", "Which?"), give)
        sink.write(b'{"id": "wrong", "choice": "once", "text": "blue"}\n')
        await until_given(given, 2)
        assert given["wrong"] == Answer(Choice.ONCE, text="blue")
        answers.asked(asked("over"), give)
        sink.write(b'{"id": "over", "choice": "once"}\n')
        await until_given(given, 3)
        assert said[-1] == "No question over is open: its answer counts for nothing."
        answers.asked(asked("open"), give)
        sink.close()
        await until_given(given, 4)
        answers.asked(asked("afterwards"), give)
        assert given["open"] == given["afterwards"] == Answer(Choice.NO)
        answers.close()


def test_nobody_says_no_and_how_to_allow_it() -> None:
    said: list[str] = []
    given: list[Answer] = []
    nobody = Nobody(said.append)
    nobody.asked(asked("a"), lambda key, answer: not given.append(answer))
    assert [answer.choice for answer in given] == [Choice.NO] and nobody.refused == 1
    assert "edit a.py. It changes a file. Ways to allow it: --skip-approvals" in said[0]
