"""Sessions as lines for a reader and as a document for a program."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from local_agent.cli.stored import StoredPath
from local_agent.domain.entries import Entry, EntryStatus, Kind, Origin, ToolCall
from local_agent.domain.pictures import caption
from local_agent.domain.requests import Message, build_messages
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line, sanitise
from local_agent.domain.times import local_time
from local_agent.domain.tree import words_of

SET_IN = "  "
CALL_SHOWN = 200
"""Characters of a call's arguments."""


def list_rows(sessions: Sequence[SessionInfo], *, with_folder: bool) -> Iterator[str]:
    """One row a session: handle, time, turns, title, and what is special about it."""
    for info in sessions:
        turns = "1 turn " if info.turn_count == 1 else f"{info.turn_count} turns"
        row = f"{info.handle}  {local_time(info.last_activity)}  {turns:>9}  {one_line(info.title)}"
        marks = "".join(f"  {mark}" for mark in _marks(info))
        yield row + marks + (f"  {one_line(info.workspace_root)}" if with_folder else "")


def transcript(path: StoredPath) -> Iterator[str]:
    """The conversation, safe to draw, a blank line between the messages."""
    info = path.session
    yield f"Session {info.handle} · {one_line(info.title)}"
    facts = (one_line(info.workspace_root), one_line(info.model) or "no model", *_marks(info))
    yield " · ".join(facts)
    last_of_turn = {entry.turn_id: entry.id for entry in path.entries}
    callers = {entry.id: entry for entry in path.entries if entry.calls}
    for entry in path.entries:
        yield ""
        yield f"{_speaker(entry, path, callers)} · {local_time(entry.created_at)}"
        yield from (f"{SET_IN}[picture] {caption(picture)}" for picture in entry.pictures)
        made = entry.calls if entry.kind is Kind.ASSISTANT else ()
        if not entry.readable:
            yield "(this message can't be read any more)"
        elif entry.text or not made:
            yield _set_in(words_of(entry))
        yield from (f"{SET_IN}[call] {_called(call)}" for call in made)
        failure = path.failures.get(entry.turn_id) if entry.turn_id is not None else None
        if failure is not None and last_of_turn[entry.turn_id] == entry.id:
            yield f"(failed: {one_line(failure.line)})"
        elif entry.status is EntryStatus.INTERRUPTED:
            yield "(interrupted)"


def _called(call: ToolCall) -> str:
    """A call in one line, such as ``read {"path": "a.py"}``."""
    arguments = call.raw or json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    return f"{one_line(call.name, 40)} {one_line(arguments[: CALL_SHOWN * 4], CALL_SHOWN)}"


def _set_in(text: str) -> str:
    """A message's own lines, which never begin where ours do."""
    return "\n".join(f"{SET_IN}{line}".rstrip() for line in sanitise(text).split("\n"))


def session_document(path: StoredPath) -> dict[str, object]:
    """The session, the messages that the next request would begin with, every entry, the errors."""
    return {
        "session": path.session,
        "messages": [_message(message) for message in _carried(path)],
        "entries": path.entries,
        "errors": path.errors,
    }


def _carried(path: StoredPath) -> tuple[Message, ...]:
    """The next request without its question: an unanswered one before it is not sent again."""
    head = path.entries[-1].id if path.entries else None
    asked = Entry(0, path.session.id, None, head, Kind.QUESTION, Origin.PERSON, "?")
    return build_messages(path.system_prompt, (*path.entries, asked), uncertain=path.uncertain)[:-1]


def _message(message: Message) -> dict[str, object]:
    record: dict[str, object] = {"role": message.role, "content": message.content}
    if message.pictures:
        record["pictures"] = message.pictures
    if message.thinking:
        record["thinking"] = message.thinking
    if message.calls:
        record["tool_calls"] = message.calls
    if message.role == "tool":
        record |= {"tool_name": message.tool_name, "tool_call_id": message.tool_call_id}
    return record


def _speaker(entry: Entry, path: StoredPath, callers: Mapping[int, Entry]) -> str:
    match entry.kind:
        case Kind.QUESTION:
            return "You"
        case Kind.ASSISTANT:
            turn = path.turns.get(entry.turn_id) if entry.turn_id is not None else None
            return one_line(turn.model if turn is not None else path.session.model) or "Model"
        case Kind.RESULT if (caller := callers.get(entry.parent or 0)) is not None:
            calls = caller.calls[entry.call_number or 0 :][:1]
            return " of ".join(["Result", *(one_line(call.name, 40) for call in calls)])
        case _:
            return entry.kind.capitalize()


def _marks(info: SessionInfo) -> list[str]:
    marks = ["pinned"] if info.pinned else []
    if info.forked_from:
        marks.append(f"fork of {info.forked_from}")
    if info.branches > 1:
        marks.append(f"{info.branches} branches")
    if info.error_count:
        marks.append(f"⚠ {info.error_count} {'error' if info.error_count == 1 else 'errors'}")
    if info.uncertain_count:
        marks.append(f"⚠ {info.uncertain_count} uncertain")
    if info.headless:
        marks.append("made by -p")
    if info.trashed:
        marks.append("in the trash")
    if info.holder is not None:
        marks.append(f"open in process {info.holder.pid}")
    return marks
