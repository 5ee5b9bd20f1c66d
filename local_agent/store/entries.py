"""Nodes of the tree: insert them, walk a path, read their texts.

A path is walked on an index that holds all it needs, so a damaged page costs its own text and no
ancestor. Ids fall along a path: a parent was written before its children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import text
from sqlalchemy.orm import Session

from local_agent.domain.entries import Entry, EntryStatus, Kind, Origin
from local_agent.domain.summaries import read_note, within
from local_agent.store import attachments, word_index
from local_agent.store.batches import MARKS, batches, rows_of
from local_agent.store.models import EntryRow
from local_agent.store.salvage import each_readable, or_without
from local_agent.store.stored_text import calls_from_json, calls_to_json, decode

_WALK = """
    WITH RECURSIVE path (id, parent, kind, turn_id, depth) AS (
        SELECT id, parent, kind, turn_id, 1 FROM entries INDEXED BY entries_path WHERE id = :leaf
        UNION ALL
        SELECT e.id, e.parent, e.kind, e.turn_id, path.depth + 1
        FROM path JOIN entries AS e INDEXED BY entries_path ON e.id = path.parent
        WHERE path.depth < :limit AND path.kind IS NOT :stop AND e.id >= :floor AND e.id < path.id
    )
    SELECT id, parent, kind, turn_id FROM path
"""
_WALKS = text(_WALK), text(_WALK.replace("INDEXED BY entries_path", "NOT INDEXED"))
"""The second reads the table, where the index itself is damaged."""

_RESULTS = f"""
    SELECT id, parent FROM entries INDEXED BY entries_of_parent
    WHERE parent IN ({MARKS}) AND kind = 'result'
"""

_TEXTS = f"""
    SELECT id, session_id, turn_id, parent, kind, origin, status, call_number, kept_from, created_at,
           CAST(text AS BLOB), CAST(context AS BLOB), CAST(thinking AS BLOB), calls
    FROM entries WHERE id IN ({MARKS})
"""

_UNLIMITED = 2**62
_NO_KIND = ""
_KINDS = {str(kind): kind for kind in Kind}
_ORIGINS = {str(origin): origin for origin in Origin}
_STATUSES = {str(status): status for status in EntryStatus}
_WHOLE = {int}
_WHOLE_OR_NONE = {int, type(None)}

_ORIGIN_OF_KIND = {
    Kind.QUESTION: Origin.PERSON,
    Kind.COMMAND: Origin.PERSON,
    Kind.ASSISTANT: Origin.MODEL,
    Kind.RESULT: Origin.TOOL,
}
_WITH_CALLS = frozenset({Kind.ASSISTANT, Kind.COMMAND})


class Node(NamedTuple):
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
    entry = replace(entry, id=row.id)
    attachments.add(db, entry)
    word_index.add(db.connection(), entry)
    return entry


def walk(
    db: Session, leaf: int | None, *, limit: int = _UNLIMITED, floor: int = 0, stop: str = _NO_KIND
) -> list[Node]:
    """The path from ``leaf`` towards the root, newest first.

    Ends after ``limit`` nodes, before an id under ``floor``, and after the first node of kind ``stop``.
    """
    if leaf is None:
        return []
    values = {"leaf": leaf, "limit": limit, "floor": floor, "stop": stop}
    by_index, by_table = _WALKS
    rows = or_without(lambda: db.execute(by_index, values).all(), None)
    if rows is None:
        rows = db.execute(by_table, values).all()
    return [node_of(*row) for row in rows]


def node_of(entry_id: int, parent: int | None, kind: str, turn_id: object) -> Node:
    """A node from its columns. A damaged kind is no reason to lose a path: the entry's text will be found
    unreadable.
    """
    return Node(entry_id, parent, _KINDS.get(kind, Kind.MARKER), turn_id if type(turn_id) is int else None)


def walk_model_facing(db: Session, leaf: int) -> list[Node]:
    """What of a path requests are built from, newest first: down to what the newest summary keeps, and the
    older turns that stay with it.
    """
    nodes = walk(db, leaf, stop=Kind.SUMMARY)
    if not nodes or nodes[-1].kind is not Kind.SUMMARY:
        return nodes
    (summary,) = read(db, nodes[-1:])
    if not summary.readable:
        return nodes + walk(db, nodes[-1].parent)
    stay = read_note(summary.context).stay
    if summary.kept_from is None and not stay:
        return nodes
    kept_from = _UNLIMITED if summary.kept_from is None else summary.kept_from
    floor = min(kept_from, *(first for first, _ in stay)) if stay else kept_from
    behind = walk(db, nodes[-1].parent, floor=floor)
    return nodes + [node for node in behind if node.id >= kept_from or within(node.id, stay)]


def with_results(db: Session, nodes: Sequence[Node]) -> list[Node]:
    """A path, oldest first, each node with calls followed by their results."""
    results: dict[int, list[Node]] = {}
    turns = {node.id: node.turn_id for node in nodes if node.kind in _WITH_CALLS}
    for ids in batches(list(turns)):
        for key, parent in sorted(or_without(partial(rows_of, db, _RESULTS, ids), ())):
            results.setdefault(parent, []).append(Node(key, parent, Kind.RESULT, turns[parent]))
    return [each for node in reversed(nodes) for each in (node, *results.get(node.id, ()))]


def read(db: Session, nodes: Sequence[Node], session_id: int = 0) -> list[Entry]:
    """The entries of ``nodes``, in their order; one whose bytes can't be read comes back as such.

    ``session_id`` is what an unreadable entry is said to belong to.
    """
    found: dict[int, Entry] = {}
    for batch in batches([node.id for node in nodes]):
        found.update(_fetch(db, batch))
    asked = [node.id for node in nodes if node.kind is Kind.QUESTION]
    for key, pictures in attachments.of_entries(db, asked).items():
        if key in found:
            found[key] = replace(found[key], pictures=pictures)
    return [found.get(node.id) or _unreadable(node, session_id) for node in nodes]


def _fetch(db: Session, ids: Sequence[int]) -> dict[int, Entry]:
    rows = each_readable(ids, lambda some: rows_of(db, _TEXTS, some), lambda _: None)
    return {row[0]: entry for row in rows if row is not None and (entry := _entry(row)) is not None}


def _entry(row: Sequence[Any]) -> Entry | None:
    """An entry from its columns in the order of ``_TEXTS``; None when they are not what was written."""
    id, session, turn, parent, kind, origin, status, number, kept, created, body, context, thinking, calls = (
        row
    )
    if not (
        {type(id), type(session)} == _WHOLE
        and {type(turn), type(parent), type(number), type(kept)} <= _WHOLE_OR_NONE
        and {type(body), type(context), type(thinking)} == {bytes}
    ):
        return None
    try:
        return Entry(
            id=id,
            session_id=session,
            turn_id=turn,
            parent=parent,
            kind=_KINDS[kind],
            origin=_ORIGINS[origin],
            text=decode(body),
            context=decode(context),
            thinking=decode(thinking),
            status=_STATUSES[status],
            calls=calls_from_json(str(calls)) if calls else (),
            call_number=number,
            kept_from=kept,
            created_at=str(created),
        )
    except (ValueError, KeyError, TypeError):
        return None


def _unreadable(node: Node, session_id: int) -> Entry:
    return Entry(
        id=node.id,
        session_id=session_id,
        turn_id=node.turn_id,
        parent=node.parent,
        kind=node.kind,
        origin=_ORIGIN_OF_KIND.get(node.kind, Origin.PROGRAM),
        text="",
        readable=False,
    )
