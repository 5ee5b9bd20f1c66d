"""Searching for a question: all that were asked, newest first, a page at a time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from local_agent.domain.asked import AskedPage, AskedQuestion
from local_agent.domain.entries import Kind, Origin
from local_agent.domain.errors import StoreError
from local_agent.store.models import EntryRow
from local_agent.store.salvage import each_readable
from local_agent.store.stored_text import decode

HEAD_BYTES = 4_000
"""How much of a question is read to be searched and shown in a list."""

# A session in the trash is not searched, though a fork may stand on it.
_IDS = """
    SELECT e.id FROM entries AS e JOIN sessions AS s ON s.id = e.session_id {folder}
    WHERE e.kind = 'question' AND e.origin = 'person' AND e.id < :before AND NOT s.trashed
    ORDER BY e.id DESC LIMIT :limit
"""
_EVERYWHERE = text(_IDS.format(folder=""))
_HERE = text(_IDS.format(folder="JOIN workspaces AS w ON w.id = s.workspace_id AND w.root = :root"))
_OWN = text(
    f"SELECT id FROM entries WHERE session_id = :session AND kind = '{Kind.QUESTION}' "
    f"AND origin = '{Origin.PERSON}' ORDER BY id DESC LIMIT :limit"
)
_MARKS = ", ".join("?" * 500)
_TEXTS = f"""
    SELECT e.id, substr(CAST(e.text AS BLOB), 1, {HEAD_BYTES}), length(CAST(e.text AS BLOB)),
           s.handle, CAST(s.title AS BLOB), CAST(w.root AS BLOB), e.created_at
    FROM entries AS e JOIN sessions AS s ON s.id = e.session_id JOIN workspaces AS w ON w.id = s.workspace_id
    WHERE e.id IN ({_MARKS})
"""
_LAST = 2**62


def page(db: Session, root: str | None, before: int | None, limit: int) -> AskedPage:
    """At most ``limit`` (500) questions of a folder, or of all, that were asked before an entry."""
    values: dict[str, Any] = {"before": before or _LAST, "limit": limit}
    if root is None:
        ids = list(db.scalars(_EVERYWHERE, values))
    else:
        ids = list(db.scalars(_HERE, {**values, "root": root}))
    return AskedPage(_read(db, ids), ids[-1] if len(ids) == limit else None)


def own(db: Session, session_id: int, limit: int) -> tuple[AskedQuestion, ...]:
    """The last questions of a session."""
    return _read(db, list(db.scalars(_OWN, {"session": session_id, "limit": limit})))


def whole(db: Session, entry_id: int) -> str:
    """All of a question. Raises ``StoreError`` when it is gone."""
    found = db.scalar(select(EntryRow.text).where(EntryRow.id == entry_id))
    if found is None:
        raise StoreError("This question is not stored any more.", "Its session was removed meanwhile.")
    return found


def _read(db: Session, ids: Sequence[int]) -> tuple[AskedQuestion, ...]:
    """What can be read of them, in their order."""

    def look(some: Sequence[int]) -> Sequence[Any]:
        marks = (*some, *[some[-1]] * (500 - len(some)))
        return db.connection().exec_driver_sql(_TEXTS, marks).all()

    found = {row[0]: row for row in each_readable(ids, look, lambda key: (key, None))}
    questions = (_question(found[key]) for key in ids if key in found)
    return tuple(question for question in questions if question is not None and question.text.strip())


def _question(row: Sequence[Any]) -> AskedQuestion | None:
    if len(row) < 7 or not all(isinstance(part, bytes) for part in (row[1], row[4], row[5])):
        return None
    key, head, size, handle, title, root, asked_at = row
    whole = size == len(head)
    try:
        # A cut may go through a character.
        beginning = decode(head) if whole else head.decode("utf-8", "ignore")
        return AskedQuestion(key, beginning, whole, str(handle), decode(title), decode(root), str(asked_at))
    except UnicodeDecodeError:
        return None
