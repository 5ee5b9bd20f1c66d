"""What is noted of a folder beyond one conversation: pure changes, and the form that goes with a question."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from local_agent.domain.errors import UsageError
from local_agent.domain.searching import fold
from local_agent.domain.text import one_line

NOTE_CHARACTERS = 1_000
MOST_NOTES = 1_000

HEADING = "Noted of this folder, newest first:"
HEADING_LATER = "Noted of this folder since then:"
_LINE = re.compile(r"\[(\d+)\] ")
_GONE = "is not noted any more."


@dataclass(frozen=True, slots=True)
class Note:
    """One thing worth knowing in later conversations."""

    id: int
    text: str
    """One line."""
    session: str = ""
    """The handle of the session that it was noted in; empty where there was none."""
    created: str = ""
    """UTC, as the database writes times."""
    updated: str = ""
    proposed: bool = False
    """It waits in the inbox: the model is not told of it."""

    @property
    def line(self) -> str:
        """As a model reads it."""
        source = f" (session {self.session})" if self.session else ""
        return f"[{self.id}] {self.text}{source}"


@dataclass(frozen=True, slots=True)
class Notes:
    """All notes of one folder. Ids are never given twice."""

    notes: tuple[Note, ...] = ()
    next_id: int = 1

    @property
    def kept(self) -> Sequence[Note]:
        """Those that count, the last changed first."""
        return _newest_first(note for note in self.notes if not note.proposed)

    @property
    def inbox(self) -> Sequence[Note]:
        """Those that wait for the person's word, newest first."""
        return _newest_first(note for note in self.notes if note.proposed)

    def find(self, note_id: int) -> Note:
        """One note. Raises ``UsageError``."""
        for note in self.notes:
            if note.id == note_id:
                return note
        raise UsageError(f"There is no note {note_id}.", "/memory lists them.")

    def added(self, text: str, now: str, *, session: str = "", proposed: bool = False) -> Notes:
        """With one more; the same where that is noted already. Raises ``UsageError``."""
        text = note_text(text)
        if any(fold(note.text) == fold(text) and note.proposed <= proposed for note in self.notes):
            return self
        if len(self.notes) >= MOST_NOTES:
            raise UsageError(f"There are {MOST_NOTES:,} notes of this folder.", "Delete some with /memory.")
        note = Note(self.next_id, text, session, now, now, proposed)
        return Notes((*self.notes, note), self.next_id + 1)

    def changed(self, note_id: int, text: str, now: str) -> Notes:
        """With another text; a proposal counts from now on. Raises ``UsageError``."""
        return self._with(replace(self.find(note_id), text=note_text(text), updated=now, proposed=False))

    def accepted(self, note_id: int, now: str) -> Notes:
        """With a proposal that counts from now on. Raises ``UsageError``."""
        return self._with(replace(self.find(note_id), updated=now, proposed=False))

    def without(self, note_id: int) -> Notes:
        """Without one. Raises ``UsageError``."""
        gone = self.find(note_id)
        return replace(self, notes=tuple(note for note in self.notes if note is not gone))

    def joined(self, others: Notes) -> Notes:
        """With all of another folder's too, under numbers of their own where there are notes already."""
        if not self.notes:
            return replace(others, next_id=max(self.next_id, others.next_id))
        known = {fold(note.text) for note in self.notes}
        new = [note for note in others.notes if fold(note.text) not in known]
        added = (replace(note, id=self.next_id + place) for place, note in enumerate(new))
        return Notes((*self.notes, *added), self.next_id + len(new))

    def put_back(self, note: Note) -> Notes:
        """With one again that was deleted; the same where its id is there."""
        if any(each.id == note.id for each in self.notes):
            return self
        return Notes((*self.notes, note), max(self.next_id, note.id + 1))

    def recalled(self, words: str) -> Sequence[Note]:
        """Those that say any of the words, in whole or in part: the ones that say the most of them first."""
        wanted = fold(words).split()
        hits = [(sum(word in fold(note.text) for word in wanted), note) for note in self.kept]
        return [note for count, note in sorted(hits, key=lambda hit: -hit[0]) if count]

    def _with(self, changed: Note) -> Notes:
        notes = tuple(changed if note.id == changed.id else note for note in self.notes)
        return replace(self, notes=notes)


def note_text(text: str) -> str:
    """The one line of a note. Raises ``UsageError`` for nothing, and for too much."""
    line = one_line(text)
    if not line:
        raise UsageError("A note needs words.")
    if one_line(line, NOTE_CHARACTERS) != line:
        raise UsageError(f"A note has at most {NOTE_CHARACTERS:,} characters.", "Make two of it.")
    return line


def to_tell(notes: Notes, told: Mapping[int, str], room: int) -> str:
    """What goes with a question: the notes that the model was not ``told``, the newest within ``room`` bytes.

    Empty when it knows all of them.
    """
    kept = notes.kept
    lines = [note.line for note in kept if told.get(note.id) != note.line]
    there = {note.id for note in kept}
    gone = [
        f"[{each}] {_GONE}" for each, line in told.items() if each not in there and not line.endswith(_GONE)
    ]
    fitting: list[str] = []
    for line in (*gone, *lines):
        room -= len(line.encode()) + 1
        if room < 0:
            break
        fitting.append(line)
    if not fitting:
        return ""
    rest = len(gone) + len(lines) - len(fitting)
    more = [f"({rest} more: memory_list)"] if rest else []
    return "\n".join([HEADING_LATER if told else HEADING, *fitting, *more])


def told_in(context: str) -> Mapping[int, str]:
    """The lines of notes that a question's context tells, by id."""
    for part in context.split("\n\n", 2)[:2]:
        heading, _, rest = part.partition("\n")
        if heading in (HEADING, HEADING_LATER):
            found = ((_LINE.match(line), line) for line in rest.split("\n"))
            return {int(match[1]): line for match, line in found if match}
    return {}


def _newest_first(notes: Iterable[Note]) -> list[Note]:
    return sorted(notes, key=lambda note: (note.updated, note.id), reverse=True)
