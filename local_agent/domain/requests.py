"""The one door out: any stored history becomes a valid list of messages.

Pure. Whatever the entries hold (orphan calls, results out of place, empty answers, failed
questions, summaries, markers, lone surrogates), the list is valid: every call is answered once,
right after it and in order; no message is empty; a question without an answer is not sent again.
Because entries never change, request n+1 begins with all of request n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from local_agent.domain.entries import Entry, Kind, ToolCall
from local_agent.domain.text import normalise
from local_agent.domain.tree import model_facing, results_by_call

NOT_RUN = "No result: this call was not run."


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request. ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""

    role: str
    content: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""


def build_messages(system: str, path: Sequence[Entry]) -> tuple[Message, ...]:
    """Build the messages of a request from a path, oldest first, results anywhere among its entries.

    The last question of the path is the one being asked: it is sent although it has no answer yet.
    """
    results = results_by_call(path)
    nodes = [entry for entry in model_facing(_nodes(path)) if entry.readable]
    messages: list[Message] = []
    waiting: Message | None = None
    preface = ""
    for entry in nodes:
        match entry.kind:
            case Kind.SUMMARY:
                preface = _summary_text(entry)
            case Kind.QUESTION:
                waiting = Message("user", _join(preface, _question_text(entry)))
            case Kind.ASSISTANT if entry.text.strip() or entry.calls:
                if waiting is None and preface:
                    waiting = Message("user", preface)
                if waiting is not None:
                    messages.append(waiting)
                    waiting, preface = None, ""
                messages.extend(_exchange(entry, results.get(entry.id, {})))
            case _:
                pass
    if waiting is not None:
        messages.append(waiting)
    head = [Message("system", normalise(system))] if system.strip() else []
    return (*head, *messages)


def _nodes(path: Sequence[Entry]) -> list[Entry]:
    seen: set[int] = set()
    nodes = []
    for entry in path:
        if entry.kind is not Kind.RESULT and entry.id not in seen:
            seen.add(entry.id)
            nodes.append(entry)
    return nodes


def _question_text(entry: Entry) -> str:
    return _join(normalise(entry.context), normalise(entry.text))


def _summary_text(entry: Entry) -> str:
    return f"Summary of the conversation so far:\n{normalise(entry.text)}" if entry.text.strip() else ""


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())


def _exchange(entry: Entry, results: Mapping[int, Entry]) -> list[Message]:
    """An assistant message and one result for each of its calls, in call order."""
    thinking = normalise(entry.thinking) if entry.calls else ""
    messages = [Message("assistant", normalise(entry.text), thinking, entry.calls)]
    for number, call in enumerate(entry.calls):
        result = results.get(number)
        text = normalise(result.text) if result is not None and result.readable else NOT_RUN
        messages.append(Message("tool", text, tool_name=call.name, tool_call_id=call.id))
    return messages
