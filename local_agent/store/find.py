"""Finds words in the texts of a path, newest first, a bounded part at a time."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.orm import Session

from local_agent.domain.finding import SHOWN, Found, FoundPart, Sought, found_in
from local_agent.store.entries import walk
from local_agent.store.salvage import each_readable
from local_agent.store.stored_text import decode

PART_ENTRIES = 500
PART_BYTES = 4_000_000
"""What one part looks through at most, so that other reads, and whoever gives up, wait for little."""

# Always as many marks, so that the statement is compiled once.
_MARKS = ", ".join("?" * PART_ENTRIES)
_TEXTS = f"""
    SELECT id, CAST(text AS BLOB), x'' FROM entries WHERE id IN ({_MARKS}) ORDER BY id DESC
"""
_WITH_THINKING = _TEXTS.replace("x''", "CAST(thinking AS BLOB)")
"""Thinking may be far longer than text: it is read when it is asked for."""


def find(db: Session, leaf: int, sought: Sought) -> FoundPart:
    """Look through the end of the path to ``leaf``; what can't be read is passed over."""
    nodes = walk(db, leaf, limit=PART_ENTRIES)
    ids = [node.id for node in nodes if node.kind in SHOWN]
    part = _Part(db, sought)
    found = tuple(each_readable(ids, part.look, lambda _: None))
    rest = nodes[-1].parent if nodes else None
    if part.stopped_before is not None:
        rest = part.stopped_before
    return FoundPart(tuple(each for each in found if each is not None), rest)


class _Part:
    """Looks until enough was read; no text is kept."""

    def __init__(self, db: Session, sought: Sought) -> None:
        self.stopped_before: int | None = None
        """The first entry that was too much; what is asked for after it is not looked at."""
        self._db = db
        self._sought = sought
        self._room = PART_BYTES

    def look(self, ids: Sequence[int]) -> Sequence[Found]:
        found: list[Found] = []
        marks = (*ids, *[ids[-1]] * (PART_ENTRIES - len(ids)))
        room = self._room
        query = _WITH_THINKING if self._sought.thinking else _TEXTS
        for entry_id, text, thinking in self._db.connection().exec_driver_sql(query, marks):
            if self.stopped_before is not None or room <= 0:
                self.stopped_before = self.stopped_before or entry_id
                break
            room -= len(text) + len(thinking)
            found += found_in(self._sought, entry_id, _readable(text), _readable(thinking))
        self._room = room
        return found


def _readable(stored: object) -> str:
    """A text as it was written; nothing for bytes that can't have been."""
    try:
        return decode(stored) if isinstance(stored, bytes) else ""
    except UnicodeDecodeError:
        return ""
