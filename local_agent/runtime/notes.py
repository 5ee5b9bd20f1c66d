"""The notes of the folder: for the screen, for the tools, and what of them goes with a question."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from local_agent.domain.entries import Entry
from local_agent.domain.errors import ConfigError
from local_agent.domain.notes import Note, Notes, to_tell, told_in
from local_agent.domain.requests import answered_questions
from local_agent.memory.notes_file import NotesFile

MOST_TOLD = 4096
"""Bytes of notes that go with one question at most."""


def utc_now() -> str:
    """The moment, as notes keep it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class FolderNotes:
    """The notes of one folder, for people. Raises ``ConfigError`` and ``UsageError``."""

    def __init__(self, file: NotesFile) -> None:
        self._file = file

    @property
    def path(self) -> Path:
        """The file that they are in."""
        return self._file.path

    async def read(self) -> Notes:
        """All of them, as they are now."""
        return await asyncio.to_thread(self._file.read)

    async def add(self, text: str, session: str = "") -> Notes:
        """Note something; the notes afterwards."""
        return await self._changed(lambda notes: notes.added(text, utc_now(), session=session))

    async def edit(self, note_id: int, text: str) -> Notes:
        """Give a note another text; a proposal counts from then on."""
        return await self._changed(lambda notes: notes.changed(note_id, text, utc_now()))

    async def accept(self, note_id: int) -> Notes:
        """Have a proposal count."""
        return await self._changed(lambda notes: notes.accepted(note_id, utc_now()))

    async def delete(self, note_id: int) -> Notes:
        """Delete a note, or drop a proposal."""
        return await self._changed(lambda notes: notes.without(note_id))

    async def put_back(self, note: Note) -> Notes:
        """Undo a deletion."""
        return await self._changed(lambda notes: notes.put_back(note))

    async def _changed(self, change: Callable[[Notes], Notes]) -> Notes:
        return (await asyncio.to_thread(self._file.change, change))[1]


class NotesToTell:
    """Of one conversation: what goes with its next question. It blocks on the disk."""

    def __init__(self, file: NotesFile | None) -> None:
        """``file``: None where models are told of no notes."""
        self._file = file
        self._told: Mapping[int, str] = {}
        self._problem = ""

    def retell(self, path: Sequence[Entry]) -> None:
        """The next question follows ``path``: what the model does not see there, it is told."""
        told: dict[int, str] = {}
        for question in answered_questions(path):
            told.update(told_in(question.context))
        self._told = told

    def next(self, window: int) -> tuple[str, str]:
        """What goes with a question, for a window of so many tokens, and a line where the notes can't be
        read: once for each reason.
        """
        if self._file is None:
            return "", ""
        try:
            notes = self._file.read()
        except ConfigError as error:
            new = str(error) != self._problem
            self._problem = str(error)
            return "", self._problem if new else ""
        self._problem = ""
        # A byte for each four tokens of the window: about a sixteenth of it.
        return to_tell(notes, self._told, min(MOST_TOLD, window // 4)), ""
