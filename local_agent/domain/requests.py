"""The one door out: any stored history becomes a valid list of messages.

Pure. Whatever the entries hold (orphan calls, results out of place, empty answers, failed
questions, summaries, markers, lone surrogates), the list is valid for the strictest template:

- it starts with a user message (after the system message), user and assistant alternate, and
  tool messages stand only between an assistant message with calls and the next assistant message;
- every call is answered exactly once, right after its message and in call order;
- no message is empty (a question may be pictures alone), and all text can be encoded as UTF-8;
- a question that nothing answered is left out, unless it is the one being asked;
- a turn that the person dropped is left out whole, unless it is the one being asked;
- what a person's own command wrote goes before the next question that is answered, in its message.

Because entries never change, request n+1 begins with all of request n.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from local_agent.domain.entries import Entry, Kind, ToolCall
from local_agent.domain.marks import Mark, marks_of
from local_agent.domain.pictures import Picture
from local_agent.domain.text import normalise
from local_agent.domain.tree import model_facing, results_by_call, without_forgotten_pictures

NOT_RUN = "No result: this call was not run."
UNCERTAIN = (
    "No result: the program ended while this ran. Nobody knows yet whether it was done; do not take either "
    "for granted."
)
NO_OUTPUT = "(no output)"
DROPPED = "(Left out by the person.)"
UNREADABLE_RESULT = "The result of this call can no longer be read."
MISSING = "(This message is not available.)"
NO_ANSWER = "(This turn ended without an answer.)"

CUT_ARGUMENTS = 12
"""How many of a call's arguments stay where it is cut."""
CUT_CHARACTERS = 200
"""What stays of one that has more than twice as many."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a request. ``role`` is ``system``, ``user``, ``assistant`` or ``tool``."""

    role: str
    content: str
    thinking: str = ""
    calls: tuple[ToolCall, ...] = ()
    tool_name: str = ""
    tool_call_id: str = ""
    pictures: tuple[Picture, ...] = ()
    """Of a user message. Their bytes are read when it is sent."""


def build_messages(
    system: str,
    path: Sequence[Entry],
    *,
    asking: bool = True,
    uncertain: Collection[tuple[int, int]] = (),
    shortened: Mapping[int, str] | None = None,
    trimmed: Mapping[int, str] | None = None,
) -> tuple[Message, ...]:
    """Build the messages of a request from a path, oldest first, results anywhere among its entries.

    The last question is the one being asked: it is sent although nothing answers it yet. With
    ``asking`` false it is left out too, which gives the history that the next request would carry.
    ``uncertain`` names calls whose outcome nobody knows, by entry and number of the call; ``shortened``
    is what is sent of a result in place of its text, by its entry; of its call what ``cut`` leaves.
    ``trimmed`` is the same with the call as it was.
    """
    dropped = frozenset(key for key, mark in marks_of(path).items() if mark is Mark.DROP)
    texts = {**(trimmed or {}), **(shortened or {}), **dict.fromkeys(dropped, DROPPED)}
    results = _Results(results_by_call(path), frozenset(uncertain), texts, frozenset(shortened or ()))
    conversation = _Conversation()
    nodes = model_facing(without_forgotten_pictures(_nodes(path)))
    for entry in without_dropped(nodes, dropped, asking=asking):
        match entry.kind:
            case Kind.SUMMARY if entry.readable:
                conversation.summary = _summary_text(entry)
            case Kind.QUESTION:
                conversation.question = _question(entry)
            case Kind.COMMAND if entry.readable:
                conversation.commands.append(_command_text(entry, results.text(entry.id, 0)))
            case Kind.ASSISTANT if _answers(entry):
                numbers = range(len(entry.calls))
                calls = [cut(c) if results.gave_way(entry.id, n) else c for n, c in enumerate(entry.calls)]
                conversation.answer(_answer(entry, calls), [results.text(entry.id, n) for n in numbers])
            case _:
                pass
    head = [Message("system", normalise(system))] if system.strip() else []
    return (*head, *conversation.finish(asking))


def without_dropped(
    nodes: Sequence[Entry], dropped: Container[int], *, asking: bool = True
) -> Iterator[Entry]:
    """The nodes of a path without the turns of these questions and commands.

    With ``asking`` the last question is the one being asked, which is never left out.
    """
    questions = (entry.id for entry in reversed(nodes) if entry.kind is Kind.QUESTION)
    asked = next(questions, None) if asking else None
    leaving = False
    for entry in nodes:
        if entry.kind in (Kind.QUESTION, Kind.COMMAND):
            leaving = entry.id in dropped and entry.id != asked
        elif entry.kind is Kind.SUMMARY:
            leaving = False
        if not leaving:
            yield entry


def answered_questions(path: Sequence[Entry]) -> list[Entry]:
    """The questions of a path that requests carry, oldest first: seen by the model, and answered."""
    dropped = frozenset(key for key, mark in marks_of(path).items() if mark is Mark.DROP)
    found: list[Entry] = []
    waiting: Entry | None = None
    for entry in without_dropped(model_facing(_nodes(path)), dropped, asking=False):
        if entry.kind is Kind.QUESTION:
            waiting = entry
        elif waiting is not None and _answers(entry):
            found.append(waiting)
            waiting = None
    return found


def _answers(entry: Entry) -> bool:
    return entry.kind is Kind.ASSISTANT and entry.readable and bool(entry.text.strip() or entry.calls)


def with_pictures_of(messages: Sequence[Message], digests: Container[str]) -> tuple[Message, ...]:
    """The same messages with those pictures alone whose digests are among ``digests``."""
    return tuple(_with_pictures_of(message, digests) if message.pictures else message for message in messages)


def _with_pictures_of(message: Message, digests: Container[str]) -> Message:
    kept = tuple(picture for picture in message.pictures if picture.sha256 in digests)
    return replace(message, pictures=kept, content=message.content or ("" if kept else MISSING))


@dataclass(frozen=True, slots=True)
class _Results:
    """What is sent as the result of each call."""

    _entries: Mapping[int, Mapping[int, Entry]]
    _uncertain: frozenset[tuple[int, int]]
    _texts: Mapping[int, str]
    """What stands for some of them, by their entries."""
    _shortened: frozenset[int]
    """Those that gave way with what their calls were given."""

    def text(self, entry_id: int, number: int) -> str:
        result = self._entries.get(entry_id, {}).get(number)
        if result is None:
            return UNCERTAIN if (entry_id, number) in self._uncertain else NOT_RUN
        if not result.readable:
            return UNREADABLE_RESULT
        text = self._texts.get(result.id, result.text)
        return normalise(text) if text.strip() else NO_OUTPUT

    def gave_way(self, entry_id: int, number: int) -> bool:
        result = self._entries.get(entry_id, {}).get(number)
        return result is not None and result.id in self._shortened


class _Conversation:
    """Messages in the making: summary, commands and the question wait until something answers them."""

    def __init__(self) -> None:
        self.summary = ""
        self.commands: list[str] = []
        self.question: Message | None = None
        self._messages: list[Message] = []

    def answer(self, answer: Message, results: Sequence[str]) -> None:
        """Add an assistant message with one result for each of its calls, in call order."""
        if self._waiting or not self._messages:
            self._ask()
        last = self._messages[-1]
        if last.role == "assistant":
            text = _join(last.content, answer.content)
            self._messages[-1] = replace(answer, content=text)
        else:
            self._messages.append(answer)
        for call, text in zip(answer.calls, results, strict=True):
            self._messages.append(Message("tool", text, tool_name=call.name, tool_call_id=call.id))

    def finish(self, asking: bool) -> list[Message]:
        """Close the list with what still waits."""
        if not asking:
            self.question = None
        if self._waiting:
            self._ask()
        return self._messages

    @property
    def _waiting(self) -> bool:
        return self.question is not None or bool(self.summary or self.commands)

    def _ask(self) -> None:
        if self._messages and self._messages[-1].role == "tool":
            self._messages.append(Message("assistant", NO_ANSWER))
        question = self.question or Message("user", "")
        text = _join(self.summary, *self.commands, question.content)
        if not (text or question.pictures):
            text = MISSING
        self._messages.append(replace(question, content=text))
        self.summary, self.commands, self.question = "", [], None


def _nodes(path: Sequence[Entry]) -> list[Entry]:
    seen: set[int] = set()
    nodes = []
    for entry in path:
        if entry.kind is not Kind.RESULT and entry.id not in seen:
            seen.add(entry.id)
            nodes.append(entry)
    return nodes


def _question(entry: Entry) -> Message:
    """What was asked; an unreadable question keeps its place, because its answer needs one."""
    if not entry.readable:
        return Message("user", MISSING)
    text = _join(normalise(entry.context), normalise(entry.text))
    return Message("user", text, pictures=entry.pictures)


def _summary_text(entry: Entry) -> str:
    return f"Summary of the conversation so far:\n{normalise(entry.text)}" if entry.text.strip() else ""


def _answer(entry: Entry, calls: Sequence[ToolCall]) -> Message:
    sent = tuple(
        ToolCall(normalise(call.id), normalise(call.name), _normalised_object(call.arguments))
        for call in calls
    )
    return Message("assistant", normalise(entry.text), normalise(entry.thinking) if sent else "", sent)


def cut(call: ToolCall) -> ToolCall:
    """A call without most of its long arguments, for a request that they would not fit."""
    kept = list(call.arguments.items())[:CUT_ARGUMENTS]
    return replace(call, arguments={name[:CUT_CHARACTERS]: _cut(value) for name, value in kept})


def _cut(value: object) -> object:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if len(text) <= CUT_CHARACTERS * 2:
        return value
    return f"{text[:CUT_CHARACTERS]} (of {len(text):,} characters the rest is left out to save room)"


def _command_text(entry: Entry, output: str) -> str:
    """A command of the person's own; indented, so that no output passes for what the person says."""
    shown = f"$ {normalise(entry.text)}\n{output}".rstrip("\n").replace("\n", "\n    ")
    return f"I ran a command myself:\n\n    {shown}"


def _normalised_object(value: Mapping[str, object]) -> dict[str, object]:
    return {normalise(key): _normalised(item) for key, item in value.items()}


def _normalised(value: object) -> object:
    match value:
        case str():
            return normalise(value)
        case Mapping():
            return _normalised_object(value)
        case list() | tuple():
            return [_normalised(item) for item in value]
        case _:
            return value


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part.strip())
