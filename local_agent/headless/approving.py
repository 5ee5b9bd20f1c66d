"""Answers what a run without a screen is asked: no, or what another program says on standard input.

Each line there is a JSON object: ``{"id": "…", "choice": "once"}``, with ``choice`` one of ``no``,
``once``, ``request``, ``session`` and ``workspace``, ``hunks`` (a list of numbers from 0) to take a part
of a diff, and ``text`` (what the model is told with a no, or the answer to a question of the model's).
A line that is none, or that answers no open question, is told on standard error and answers nothing; the
end of input answers no.
"""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Protocol

from local_agent.domain.approvals import NO, Answer, Choice
from local_agent.domain.events import ApprovalAsked, Event, QuestionAsked
from local_agent.domain.text import decode, one_line

NOBODY = Answer(Choice.NO, text="Nobody can be asked in this run. Go on without it.")
LINE_LIMIT = 1 << 20
"""Bytes of one answer."""

Give = Callable[[str, Answer], bool]


class Answers(Protocol):
    """What answers in place of a person."""

    @property
    def refused(self) -> int:
        """How many calls were refused because nobody could be asked."""

    def asked(self, event: Event, give: Give) -> None:
        """Look at an event; a question in it is answered through ``give``, now or later."""

    def close(self) -> None:
        """Answer nothing more."""


class Nobody:
    """Answers no to everything: a run without a screen fails closed."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.refused = 0
        self._say = say

    def asked(self, event: Event, give: Give) -> None:
        match event:
            case ApprovalAsked(request):
                self.refused += 1
                what = f"{request.tool} {one_line(request.target, 200)}".rstrip()
                self._say(
                    f"Refused, because nobody can be asked: {what}. {request.reason} "
                    "Ways to allow it: --skip-approvals, --approve-stdin. "
                    "--mode AUTO allows edits in the folder and commands that only read."
                )
                give(request.id, NOBODY)
            case QuestionAsked(id=key, text=text):
                self._say(f"The model asked, and nobody can answer: {one_line(text, 200)}")
                give(key, NOBODY)
            case _:
                pass

    def close(self) -> None:
        """There is nothing to end."""


class FromInput:
    """Answers with what comes line by line on standard input."""

    refused = 0

    def __init__(self, descriptor: int, say: Callable[[str], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._descriptor = descriptor
        self._say = say
        self._asked: dict[str, Give] = {}
        self._ended = False
        # A thread that waits for input can't be ended: it must not keep the program alive.
        threading.Thread(target=self._read, name="answers", daemon=True).start()

    def asked(self, event: Event, give: Give) -> None:
        match event:
            case ApprovalAsked(request):
                key = request.id
            case QuestionAsked(id=key):
                pass
            case _:
                return
        if self._ended:
            give(key, NO)
        else:
            self._asked[key] = give

    def close(self) -> None:
        self._asked.clear()

    def _read(self) -> None:
        # Not through a file object: its lock, held by a thread that waits, aborts the interpreter's exit.
        rest = b""
        with suppress(OSError):
            while data := os.read(self._descriptor, 1 << 16):
                *lines, rest = (rest + data).split(b"\n")
                for line in lines:
                    self._hand_over(self._take, line)
                if len(rest) > LINE_LIMIT:
                    self._hand_over(self._take, rest[:200])
                    rest = b""
        self._hand_over(self._take, rest)
        self._hand_over(self._end)

    def _hand_over(self, function: Callable[..., None], *arguments: object) -> None:
        try:
            self._loop.call_soon_threadsafe(function, *arguments)
        except RuntimeError:  # the loop is closed: nobody asks any more
            return

    def _take(self, line: bytes) -> None:
        text = decode(line).strip()
        if not text:
            return
        try:
            key, answer = read_answer(text)
        except ValueError as error:
            self._say(f"This is no answer ({error}): {one_line(text, 80)}")
            return
        give = self._asked.pop(key, None)
        # An id is known only from its question, which is told of in the same step as it is opened here.
        if give is None or not give(key, answer):
            self._say(f"No question {one_line(key, 40)} is open: its answer counts for nothing.")

    def _end(self) -> None:
        self._ended = True
        for key, give in self._asked.items():
            give(key, NO)
        self._asked.clear()


def read_answer(line: str) -> tuple[str, Answer]:
    """The id of the question and its answer. Raises ``ValueError`` that says what is wrong."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError("no JSON") from None
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str):
        raise ValueError("no object with an id")
    choices = [choice.value for choice in Choice]
    if value.get("choice") not in choices:
        raise ValueError(f"choice must be one of {', '.join(choices)}")
    text = value.get("text", "")
    if not isinstance(text, str):
        raise ValueError("text must be text")
    return value["id"], Answer(Choice(value["choice"]), _hunks(value.get("hunks")), text)


def _hunks(value: Any) -> frozenset[int] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(number) is int and number >= 0 for number in value):
        raise ValueError("hunks must be a list of numbers from 0")
    return frozenset(value)
