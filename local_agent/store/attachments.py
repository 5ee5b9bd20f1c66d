"""Which pictures belong to an entry or to unsent work: rows and JSON that name them, never their bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry
from local_agent.domain.pictures import Picture, named
from local_agent.store.batches import MARKS, batches, rows_of
from local_agent.store.models import AttachmentRow
from local_agent.store.salvage import or_without
from local_agent.store.stored_text import decode

_OF_ENTRIES = f"""
    SELECT entry_id, sha256, CAST(name AS BLOB), mime, size, width, height
    FROM attachments WHERE entry_id IN ({MARKS}) ORDER BY entry_id, number
"""
_DIGEST = re.compile(r"[0-9a-f]{64}", re.ASCII)
_FIELDS = {"sha256", "name", "mime", "size", "width", "height"}


def add(db: Session, entry: Entry) -> None:
    """Write the pictures of an entry that was just inserted."""
    for number, picture in enumerate(entry.pictures):
        db.add(AttachmentRow(entry_id=entry.id, number=number, **asdict(picture)))
    if entry.pictures:
        db.flush()


def of_entries(db: Session, ids: Sequence[int]) -> dict[int, tuple[Picture, ...]]:
    """The pictures of those entries that have some; what is damaged or nothing of ours is left out."""
    found: dict[int, tuple[Picture, ...]] = {}
    for batch in batches(ids):
        for entry_id, digest, name, *rest in or_without(partial(rows_of, db, _OF_ENTRIES, batch), ()):
            picture = _picture([digest, decode_or_empty(name), *rest])
            if picture is not None:
                found[entry_id] = (*found.get(entry_id, ()), picture)
    return found


def digests(db: Session) -> set[str]:
    """What any entry refers to."""
    return set(db.scalars(select(AttachmentRow.sha256).distinct()))


def to_json(pictures: Iterable[Picture]) -> list[dict[str, object]]:
    """Of unsent work."""
    return [asdict(picture) for picture in pictures]


def from_json(value: object) -> tuple[Picture, ...]:
    """The inverse; without those that can't be read."""
    rows = value if isinstance(value, list) else []
    found = (_picture_of(row) for row in rows)
    return tuple(picture for picture in found if picture is not None)


def decode_or_empty(data: object) -> str:
    """A stored text that may be anything."""
    try:
        return decode(data) if isinstance(data, bytes) else ""
    except UnicodeDecodeError:
        return ""


def loads(text: str) -> object:
    """JSON of ours, or None where it is none."""
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value


def _picture_of(row: object) -> Picture | None:
    if not isinstance(row, Mapping) or row.keys() != _FIELDS:
        return None
    return _picture([row[name] for name in ("sha256", "name", "mime", "size", "width", "height")])


def _picture(values: Sequence[object]) -> Picture | None:
    match values:
        case [str(digest), str(name), str(mime), int(size), int(width), int(height)]:
            picture = Picture(digest, named(name), mime, size, width, height)
            return picture if _DIGEST.fullmatch(digest) else None
    return None
