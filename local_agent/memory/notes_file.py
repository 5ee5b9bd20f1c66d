"""The notes of one folder as a file of the person's: ``memory/<hash>.json``, which may be written by hand.

What can't be read as it should is never written over: there are no notes then, until it is mended.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from local_agent.config.paths import Paths
from local_agent.config.private_files import private_folder, read_regular, write_private
from local_agent.domain.errors import ConfigError
from local_agent.domain.notes import MOST_NOTES, Note, Notes
from local_agent.domain.text import one_line

MAX_BYTES = 4 * 1024 * 1024
LOCK_SECONDS = 30.0

_PROPOSED = "proposed"
_TEXTS = ("text", "session", "created", "updated", "state")
_KEYS = {"id", *_TEXTS}


class NotesFile:
    """All of its methods may block on the disk, and raise ``ConfigError``."""

    def __init__(self, paths: Paths, root: str) -> None:
        name = hashlib.sha256(root.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        self.path: Path = paths.memory / f"{name}.json"
        self._lock = paths.locks / f"notes-{name}.lock"
        self._root = root

    def read(self) -> Notes:
        """What it says now; nothing where there is none."""
        try:
            data = read_regular(self.path, MAX_BYTES + 1)
            if len(data) > MAX_BYTES:
                raise ValueError(f"it is over {MAX_BYTES // 1024**2} MiB")
            return self._parsed(data)
        except FileNotFoundError:
            return Notes()
        except OSError as error:
            raise ConfigError(f"Can't read the notes in {self.path}: {error.strerror}.") from error
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"The notes in {self.path} can't be read: {one_line(str(error), 120)}.",
                "Mend the file, or move it away; until then nothing is noted here.",
            ) from error

    def change(self, change: Callable[[Notes], Notes]) -> tuple[Notes, Notes]:
        """Replace the notes by what ``change`` makes of them, alone among all processes: before and after.

        What ``change`` raises goes on; then the file stays as it is.
        """
        from filelock import FileLock, Timeout  # 37 ms that a start doesn't need

        try:
            private_folder(self._lock.parent)
            # A lock that is no lock would lose notes; one place keeps it, whatever the thread.
            with FileLock(self._lock, timeout=LOCK_SECONDS, mode=0o600, fallback_to_soft=False):
                before = self.read()
                after = change(before)
                if after != before:
                    write_private(self.path, self._written(after))
                return before, after
        except Timeout as error:
            raise ConfigError(f"Another process has been changing {self.path} for too long.") from error
        except (OSError, NotImplementedError) as error:
            said = getattr(error, "strerror", None) or error
            raise ConfigError(f"Can't write the notes to {self.path}: {said}.") from error

    def _written(self, notes: Notes) -> bytes:
        content = {
            "workspace": self._root,
            "next_id": notes.next_id,
            "notes": [_entry(note) for note in notes.notes],
        }
        return (json.dumps(content, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "surrogatepass")

    def _parsed(self, data: bytes) -> Notes:
        content = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode("utf-8", "surrogatepass"))
        if not isinstance(content, dict) or not isinstance(entries := content.get("notes", []), list):
            raise ValueError('it is not {"notes": [...]}')
        if unknown := sorted(content.keys() - {"workspace", "next_id", "notes"}):
            raise ValueError(f"it has an unknown key {unknown[0]!r}")
        if content.get("workspace", self._root) != self._root:
            raise ValueError(f"they are those of {content['workspace']}")
        if len(entries) > MOST_NOTES:
            raise ValueError(f"there are over {MOST_NOTES:,}")
        known = [_id(entry) for entry in entries]
        if len(given := [each for each in known if each]) != len(set(given)):
            raise ValueError("two notes have the same id")
        next_id = max([_number(content.get("next_id", 1), "next_id"), *(each + 1 for each in given)])
        notes = []
        for entry, note_id in zip(entries, known, strict=True):
            # One that a person added by hand needs no number.
            notes.append(_note(entry, note_id or next_id))
            next_id = max(next_id, notes[-1].id + 1)
        return Notes(tuple(notes), next_id)


def _entry(note: Note) -> dict[str, object]:
    values = {
        "id": note.id,
        "text": note.text,
        "session": note.session,
        "created": note.created,
        "updated": note.updated,
        "state": _PROPOSED if note.proposed else "",
    }
    return {key: value for key, value in values.items() if value}


def _id(entry: object) -> int:
    """0 for one that has none."""
    if not isinstance(entry, dict):
        raise ValueError("a note is no object")
    return _number(entry["id"], "an id") if "id" in entry else 0


def _number(value: object, what: str) -> int:
    if type(value) is not int or not 0 < value < 2**53:
        raise ValueError(f"{what} is no number over 0")
    return value


def _note(entry: Mapping[str, Any], note_id: int) -> Note:
    if unknown := sorted(entry.keys() - _KEYS):
        raise ValueError(f"note {note_id} has an unknown key {unknown[0]!r}")
    text, session, created, updated, state = (entry.get(key, "") for key in _TEXTS)
    if not all(isinstance(value, str) for value in (text, session, created, updated, state)):
        raise ValueError(f"note {note_id} has something else than text in it")
    if state not in ("", _PROPOSED):
        raise ValueError(f"note {note_id} has an unknown state {state!r}")
    if not (line := one_line(text)):
        raise ValueError(f"note {note_id} has no text")
    session, created, updated = (one_line(value, 40) for value in (session, created, updated or created))
    return Note(note_id, line, session, created, updated, state == _PROPOSED)
