"""``memory_save``, ``_update``, ``_delete``, ``_list``, ``_recall``: notes for later conversations."""

from __future__ import annotations

import asyncio
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Protocol

from local_agent.domain.entries import ToolCall
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.notes import Note, Notes
from local_agent.domain.text import one_line
from local_agent.domain.tools import (
    Action,
    Effect,
    Intent,
    ReadyTool,
    ResultStatus,
    Surroundings,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.folder import Folder
from local_agent.tools.output import cut_bytes
from local_agent.tools.talking import TalkingTool
from local_agent.tools.tool import Ready, Tool

_TEXT = {"type": "string", "description": "one fact, in one line"}
_ID = {"type": "integer"}


def _spec(
    name: str, about: str, properties: Mapping[str, object], effect: Effect, **example: object
) -> ToolSpec:
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return ToolSpec(name, about, schema, effect, example)


SAVE = _spec(
    "memory_save",
    "Note a lasting fact about this folder, for later conversations.",
    {"text": _TEXT},
    Effect.EFFECTFUL,
    text="Tests run with make check.",
)
UPDATE = _spec(
    "memory_update",
    "Change a note.",
    {"id": _ID, "text": _TEXT},
    Effect.EFFECTFUL,
    id=3,
    text="Tests run with make test.",
)
DELETE = _spec("memory_delete", "Delete a note.", {"id": _ID}, Effect.EFFECTFUL, id=3)
LIST = _spec("memory_list", "List the notes.", {}, Effect.READ_ONLY)
RECALL = _spec(
    "memory_recall",
    "Find notes that say words.",
    {"words": {"type": "string"}},
    Effect.READ_ONLY,
    words="tests",
)


class NoteBook(Protocol):
    """Where notes are. What is asked of it may block, and raises ``LocalAgentError``."""

    @property
    def path(self) -> Path:
        """Its file."""

    def read(self) -> Notes:
        """All notes."""

    def change(self, change: Callable[[Notes], Notes]) -> tuple[Notes, Notes]:
        """Replace them by what ``change`` makes of them: before and after."""


Change = Callable[[Notes, Mapping[str, object]], Notes]


@dataclass(frozen=True, slots=True)
class NoteTool:
    """A tool that changes notes by a pure function."""

    spec: ToolSpec
    book: NoteBook
    changed: Change

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look what would change."""
        try:
            before = await asyncio.to_thread(self.book.read)
            after = self.changed(before, call.arguments)
        except LocalAgentError as error:
            raise _failed(error) from error
        old, new = _difference(before, after)
        text = (new or old or Note(0, str(call.arguments.get("text", "")))).text
        return Intent(
            call,
            self.spec,
            Action.REMEMBER,
            one_line(text, 200),
            diff=_diff(old, new),
            # What is allowed for good is allowed on this file.
            expected={str(self.book.path): ""},
            plan=old,
        )

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """A note is changed as a whole."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> ReadyTool:
        """Nothing is kept open: the notes are looked at again when they are changed."""
        return Ready(partial(self._run, intent))

    async def _run(self, intent: Intent, around: Surroundings) -> ToolResult:
        def change(notes: Notes) -> Notes:
            shown = intent.plan
            if isinstance(shown, Note) and notes.find(shown.id).text != shown.text:
                raise ToolFailed(f"Note {shown.id} was changed meanwhile: list the notes again.")
            return self.changed(notes, intent.call.arguments)

        try:
            before, after = await asyncio.to_thread(self.book.change, change)
        except LocalAgentError as error:
            raise _failed(error) from error
        old, new = _difference(before, after)
        match old, new:
            case None, None:
                said = "That is noted already."
            case _, None:
                said = f"Note {old.id} is deleted." if old else ""
            case None, _:
                said = f"Noted as {new.id}." if new else ""
            case _:
                said = f"Note {new.id} is changed." if new else ""
        return ToolResult(ResultStatus.OK, said, said.rstrip("."), diff=intent.diff)


def note_tools(book: NoteBook, now: Callable[[], str], session: Callable[[], str]) -> Sequence[Tool]:
    """The five. ``session``: the handle of the conversation that they are used in."""

    def save(notes: Notes, arguments: Mapping[str, object]) -> Notes:
        return notes.added(str(arguments["text"]), now(), session=session())

    def update(notes: Notes, arguments: Mapping[str, object]) -> Notes:
        return notes.changed(_kept(notes, arguments).id, str(arguments["text"]), now())

    def delete(notes: Notes, arguments: Mapping[str, object]) -> Notes:
        return notes.without(_kept(notes, arguments).id)

    return (
        NoteTool(SAVE, book, save),
        NoteTool(UPDATE, book, update),
        NoteTool(DELETE, book, delete),
        TalkingTool(LIST, lambda _: "", partial(_told, book, lambda notes, _: notes.kept)),
        TalkingTool(
            RECALL,
            lambda arguments: one_line(str(arguments["words"]), 200),
            partial(_told, book, lambda notes, arguments: notes.recalled(str(arguments["words"]))),
        ),
    )


async def _told(
    book: NoteBook,
    which: Callable[[Notes, Mapping[str, object]], Sequence[Note]],
    arguments: Mapping[str, object],
    most_bytes: int,
    around: Surroundings,
) -> ToolResult:
    try:
        found = which(await asyncio.to_thread(book.read), arguments)
    except LocalAgentError as error:
        raise _failed(error) from error
    text = "\n".join(note.line for note in found) or "Nothing is noted about that."
    count = f"{len(found)} {'note' if len(found) == 1 else 'notes'}"
    return ToolResult(ResultStatus.OK, cut_bytes(text, most_bytes), count)


def _kept(notes: Notes, arguments: Mapping[str, object]) -> Note:
    """What a model names; a proposal is the person's to decide about."""
    wanted = arguments["id"]
    for note in notes.kept:
        if note.id == wanted:
            return note
    raise ToolFailed(f"There is no note {wanted}: memory_list lists them.")


def _difference(before: Notes, after: Notes) -> tuple[Note | None, Note | None]:
    """The one note that was changed, as it was and as it is."""
    old = next((note for note in before.notes if note not in after.notes), None)
    return old, next((note for note in after.notes if note not in before.notes), None)


def _diff(old: Note | None, new: Note | None) -> str:
    lines = difflib.unified_diff(
        [old.text] if old else [], [new.text] if new else [], "notes", "notes", lineterm=""
    )
    return "\n".join(lines)


def _failed(error: LocalAgentError) -> ToolFailed:
    return ToolFailed(str(error))
