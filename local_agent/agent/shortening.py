"""Old results of tools give way where a request would not fit, with what their calls were given.

A line stands for a result, and the beginning for an argument that is long.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from local_agent.domain.budget import BYTES_PER_TOKEN
from local_agent.domain.entries import Entry, Kind, ToolCall
from local_agent.domain.requests import cut
from local_agent.domain.text import one_line

FULL = 0.75
"""Of the context window, above which results give way."""
ROOM = 0.5
"""Of the window, down to which they do."""
_WORTH_IT = 400
"""Bytes that a result must have to give way, or what can be cut of its call."""
_BEGINNING = 300
"""Characters that stay of the newest results: the model has not read them yet."""
_TARGET = 80
_SLACK = 1024
"""Bytes that a tool may add in words to what it was given room for."""


def trimmings(path: Sequence[Entry], limit: int) -> dict[int, str]:
    """What is sent of results of more than ``limit`` bytes, by entry: those of a larger window are too long.

    Of the same result the same, so that requests go on alike.
    """
    results = (entry for entry in path if entry.kind is Kind.RESULT and len(entry.text) > limit // 4)
    return {entry.id: _ends(entry.text, limit) for entry in results if _size(entry.text) > limit + _SLACK}


class Shortening:
    """What is sent in place of results during one turn; what gave way once stays so."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        """By the entry of the result."""
        self._path: Sequence[Entry] = ()
        self._all = False

    def fit(self, path: Sequence[Entry], estimate: int, window: int) -> bool:
        """Leave out what is too much of a request of ``estimate`` tokens; True when that changes it."""
        self._path = path
        if not self._all and estimate <= window * FULL:
            return False
        excess = (estimate - window * ROOM) * BYTES_PER_TOKEN
        before = len(self.texts)
        for result, text, saved in replaceable(path):
            if not self._all and excess <= 0:
                break
            if result.id not in self.texts:
                self.texts[result.id] = text
                excess -= saved
        return len(self.texts) > before

    def give_all(self) -> bool:
        """The server says that it is too much: leave out whatever can be. False when that is done already."""
        self._all = True
        return any(result.id not in self.texts for result, _, _ in replaceable(self._path))


def replaceable(path: Sequence[Entry]) -> Iterator[tuple[Entry, str, int]]:
    """The results of a path that are worth it, oldest first, what may stand for each, the bytes it saves."""
    callers = {entry.id: entry for entry in path if entry.calls}
    newest = max((entry.id for entry in callers.values() if entry.kind is Kind.ASSISTANT), default=0)
    for result in sorted((entry for entry in path if entry.kind is Kind.RESULT), key=lambda entry: entry.id):
        caller = callers.get(result.parent or 0)
        number = result.call_number or 0
        if caller is None or number >= len(caller.calls):
            continue
        call = caller.calls[number]
        arguments = _json(call)
        given = _size(arguments) - _size(_json(cut(call))) if caller.kind is Kind.ASSISTANT else 0
        if _size(result.text) >= _WORTH_IT:
            text = _stand_in(result, call.name, arguments, caller.id == newest)
            yield result, text, _size(result.text) - _size(text) + given
        elif given >= _WORTH_IT:
            yield result, result.text, given


def _stand_in(result: Entry, name: str, arguments: str, unread: bool) -> str:
    what = f"{one_line(name, _TARGET)} {one_line(arguments, _TARGET)}, {_size(result.text):,} bytes"
    if unread:
        return f"{result.text[:_BEGINNING]}\n(The rest of {what}, does not fit. Ask for a smaller part.)"
    return f"(Left out to save room: {what}. Call it again if you need it.)"


def _ends(text: str, limit: int) -> str:
    data = text.encode("utf-8", "replace")
    head, tail = data[: limit // 2], data[-(limit // 2) :]
    note = f"(… {len(data) - len(head) - len(tail):,} bytes left out …)"
    return "\n".join((head.decode("utf-8", "ignore"), note, tail.decode("utf-8", "ignore")))


def _json(call: ToolCall) -> str:
    return json.dumps(dict(call.arguments), ensure_ascii=False, default=str)


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
