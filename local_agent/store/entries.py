"""Nodes of the tree: insert them, walk a path, read their texts.

A path is walked on an index that holds all it needs, so a damaged page costs its own text and no
ancestor. Ids fall along a path: a parent was written before its children.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import bindparam, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, EntryStatus, Kind, Origin
from local_agent.store.failures import is_damage
from local_agent.store.models import EntryRow
from local_agent.store.stored_text import calls_from_json, calls_to_json, decode

BATCH = 200

_WALK = text("""
    WITH RECURSIVE path (id, parent, kind, turn_id, depth) AS (
        SELECT id, parent, kind, turn_id, 1 FROM entries INDEXED BY entries_path WHERE id = :leaf
        UNION ALL
        SELECT e.id, e.parent, e.kind, e.turn_id, path.depth + 1
        FROM path JOIN entries AS e INDEXED BY entries_path ON e.id = path.parent
        WHERE path.depth < :limit AND path.kind != :stop AND e.id >= :floor AND e.id < path.id
    )
    SELECT id, parent, kind, turn_id FROM path
""")

_RESULTS = text("""
    SELECT id, parent FROM entries INDEXED BY entries_of_parent
    WHERE parent IN :parents AND kind = 'result' ORDER BY id
""").bindparams(bindparam("parents", expanding=True))

_TEXTS = text("""
    SELECT id, session_id, turn_id, parent, kind, origin, status, call_number, kept_from, created_at,
           CAST(text AS BLOB), CAST(context AS BLOB), CAST(thinking AS BLOB), calls
    FROM entries WHERE id IN :ids
""").bindparams(bindparam("ids", expanding=True))

_UNLIMITED = 2**62
_NO_KIND = ""
_KINDS = frozenset(Kind)

_ORIGINS = {Kind.QUESTION: Origin.PERSON, Kind.ASSISTANT: Origin.MODEL, Kind.RESULT: Origin.TOOL}


@dataclass(frozen=True, slots=True)
class Node:
    """What the index knows of an entry."""

    id: int
    parent: int | None
    kind: Kind
    turn_id: int | None


def insert_entry(db: Session, entry: Entry) -> Entry:
    """Store a new node; its ``id`` is given here."""
    row = EntryRow(
        session_id=entry.session_id,
        turn_id=entry.turn_id,
        parent=entry.parent,
        kind=entry.kind,
        origin=entry.origin,
        status=entry.status,
        call_number=entry.call_number,
        kept_from=entry.kept_from,
        created_at=entry.created_at,
        text=entry.text,
        context=entry.context,
        thinking=entry.thinking,
        calls=calls_to_json(entry.calls),
    )
    db.add(row)
    db.flush()
    return replace(entry, id=row.id)


def walk(
    db: Session, leaf: int | None, *, limit: int = _UNLIMITED, floor: int = 0, stop: str = _NO_KIND
) -> list[Node]:
    """The path from ``leaf`` towards the root, newest first.

    Ends after ``limit`` nodes, before an id under ``floor``, and after the first node of kind ``stop``.
    """
    if leaf is None:
        return []
    values = {"leaf": leaf, "limit": limit, "floor": floor, "stop": stop}
    return [Node(id, parent, _kind(kind), turn) for id, parent, kind, turn in db.execute(_WALK, values)]


def walk_model_facing(db: Session, leaf: int) -> list[Node]:
    """What of a path requests are built from, newest first: down to what the newest summary keeps."""
    nodes = walk(db, leaf, stop=Kind.SUMMARY)
    if not nodes or nodes[-1].kind is not Kind.SUMMARY:
        return nodes
    (summary,) = read(db, nodes[-1:])
    if summary.kept_from is None and summary.readable:
        return nodes
    return nodes + walk(db, nodes[-1].parent, floor=summary.kept_from or 0)


def with_results(db: Session, nodes: Sequence[Node]) -> list[Node]:
    """A path, oldest first, each assistant node followed by the results of its calls."""
    results: dict[int, list[Node]] = {}
    assistants = [node.id for node in nodes if node.kind is Kind.ASSISTANT]
    turns = {node.id: node.turn_id for node in nodes}
    for ids in _batches(assistants):
        for key, parent in db.execute(_RESULTS, {"parents": ids}):
            results.setdefault(parent, []).append(Node(key, parent, Kind.RESULT, turns[parent]))
    return [each for node in reversed(nodes) for each in (node, *results.get(node.id, ()))]


def read(db: Session, nodes: Sequence[Node], session_id: int = 0) -> list[Entry]:
    """The entries of ``nodes``, in their order; one whose bytes can't be read comes back as such.

    ``session_id`` is what an unreadable entry is said to belong to.
    """
    found: dict[int, Entry] = {}
    for batch in _batches([node.id for node in nodes]):
        found.update(_fetch(db, batch))
    return [found.get(node.id) or _unreadable(node, session_id) for node in nodes]


def _kind(value: str) -> Kind:
    """A damaged kind is no reason to lose the path: the entry's text will be found unreadable."""
    return Kind(value) if value in _KINDS else Kind.MARKER


def _fetch(db: Session, ids: Sequence[int]) -> dict[int, Entry]:
    try:
        rows = db.execute(_TEXTS, {"ids": ids}).all()
    except DBAPIError as error:
        if not is_damage(error):
            raise
        if len(ids) == 1:
            return {}
        return {key: entry for each in ids for key, entry in _fetch(db, [each]).items()}
    return {row[0]: entry for row in rows if (entry := _entry(row)) is not None}


def _entry(row: Sequence[object]) -> Entry | None:
    """An entry from its columns in the order of ``_TEXTS``; None when they are not what was written."""
    id, session, turn, parent, kind, origin, status, number, kept, created, body, context, thinking, calls = (
        row
    )
    try:
        return Entry(
            id=_whole(id),
            session_id=_whole(session),
            turn_id=_whole_or_none(turn),
            parent=_whole_or_none(parent),
            kind=Kind(str(kind)),
            origin=Origin(str(origin)),
            text=_decoded(body),
            context=_decoded(context),
            thinking=_decoded(thinking),
            status=EntryStatus(str(status)),
            calls=calls_from_json(str(calls)),
            call_number=_whole_or_none(number),
            kept_from=_whole_or_none(kept),
            created_at=str(created),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _decoded(value: object) -> str:
    if not isinstance(value, bytes):
        raise TypeError(value)
    return decode(value)


def _whole(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(value)
    return value


def _whole_or_none(value: object) -> int | None:
    return None if value is None else _whole(value)


def _unreadable(node: Node, session_id: int) -> Entry:
    return Entry(
        id=node.id,
        session_id=session_id,
        turn_id=node.turn_id,
        parent=node.parent,
        kind=node.kind,
        origin=_ORIGINS.get(node.kind, Origin.PROGRAM),
        text="",
        readable=False,
    )


def _batches(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    for start in range(0, len(ids), BATCH):
        yield ids[start : start + BATCH]
