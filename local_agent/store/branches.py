"""A session's tree: what it wrote on any branch, and the path that it inherited as a fork."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from local_agent.domain.branches import TreeNode
from local_agent.domain.entries import Kind, TurnStatus
from local_agent.domain.errors import UsageError
from local_agent.store import entries
from local_agent.store.entries import Node
from local_agent.store.models import EntryRow, SessionRow
from local_agent.store.salvage import each_readable, or_without

READ = 200
"""Characters of a text that a node shows."""

# Both indexes hold all that is asked for, so that no damaged page of texts costs the tree its shape.
_OWN = """
    SELECT id, parent, kind, turn_id FROM entries INDEXED BY entries_path
    WHERE id IN (
        SELECT id FROM entries INDEXED BY entries_of_session
        WHERE session_id = :session
          AND kind IN ('question', 'command', 'assistant', 'summary', 'marker')
    )
    ORDER BY id
"""
_OWN_BY_TABLE = """
    SELECT id, parent, kind, turn_id FROM entries NOT INDEXED
    WHERE session_id = :session AND kind <> 'result' ORDER BY id
"""
_SHOWN = f"""
    SELECT e.id, e.created_at, CAST(substr(e.text, 1, {READ}) AS BLOB), t.status
    FROM entries AS e LEFT JOIN turns AS t ON t.id = e.turn_id
    WHERE e.id IN (SELECT value FROM json_each(:ids))
"""
_KINDS = {str(kind): kind for kind in Kind}
_STATUSES = {str(status): status for status in TurnStatus}
_NO_WORDS = "", "", None


@dataclass(slots=True)
class _Growing:
    """A node while its entries are gathered."""

    first: Node
    parent: int | None
    inherited: bool
    last: int = field(init=False)

    def __post_init__(self) -> None:
        self.last = self.first.id


def tree(db: Session, session_id: int) -> list[TreeNode]:
    """A node for each turn, summary and marker, oldest first; a text that can't be read is empty.

    The same few statements, however many there are.
    """
    origin = db.scalar(select(SessionRow.fork_entry).where(SessionRow.id == session_id))
    inherited = entries.walk(db, origin)[::-1]
    own = _own(db, session_id)
    grown = _grow([*((node, True) for node in inherited), *((node, False) for node in own)])
    words = _words(db, [each.first.id for each in grown])
    return [_node(each, words) for each in grown]


def require_in_tree(db: Session, session_id: int, entry_id: int) -> tuple[Node, int]:
    """An entry of the session's tree and the session that wrote it; of a result, the entry that called it.

    Raises ``UsageError`` for any other number.
    """
    found = _node_and_writer(db, entry_id)
    if found is not None and found[0].kind is Kind.RESULT and found[0].parent is not None:
        found = _node_and_writer(db, found[0].parent)
    if found is not None and (found[1] == session_id or _inherits(db, session_id, found[0].id)):
        return found
    raise UsageError("That place is not in this conversation.", "Choose one: /tree")


def _inherits(db: Session, session_id: int, entry_id: int) -> bool:
    origin = db.scalar(select(SessionRow.fork_entry).where(SessionRow.id == session_id))
    return any(node.id == entry_id for node in entries.walk(db, origin, floor=entry_id))


def _node_and_writer(db: Session, entry_id: int) -> tuple[Node, int] | None:
    if not 0 < entry_id < 2**63:
        return None
    columns = select(EntryRow.parent, EntryRow.kind, EntryRow.turn_id, EntryRow.session_id)
    row = db.execute(columns.where(EntryRow.id == entry_id)).one_or_none()
    if row is None:
        return None
    return Node(entry_id, row.parent, _KINDS.get(row.kind, Kind.MARKER), row.turn_id), row.session_id


def _own(db: Session, session_id: int) -> list[Node]:
    values = {"session": session_id}
    rows = or_without(lambda: db.execute(text(_OWN), values).all(), None)
    if rows is None:
        rows = or_without(lambda: db.execute(text(_OWN_BY_TABLE), values).all(), ())
    return [
        Node(key, parent, _KINDS.get(kind, Kind.MARKER), turn if type(turn) is int else None)
        for key, parent, kind, turn in rows
    ]


def _grow(nodes: Iterable[tuple[Node, bool]]) -> list[_Growing]:
    """Entries, oldest first, gathered into what they are shown as."""
    grown: dict[int, _Growing] = {}
    place: dict[int, int] = {}
    for node, inherited in nodes:
        home = place.get(node.parent) if node.parent is not None else None
        goes_on = node.kind is Kind.ASSISTANT and home is not None
        if goes_on and home is not None and grown[home].first.turn_id == node.turn_id:
            place[node.id] = home
            grown[home].last = node.id
        else:
            place[node.id] = node.id
            grown[node.id] = _Growing(node, home, inherited)
    return list(grown.values())


def _words(db: Session, ids: Sequence[int]) -> dict[int, tuple[str, str, TurnStatus | None]]:
    def look(some: Sequence[int]) -> list[tuple[int, tuple[str, str, TurnStatus | None]]]:
        rows = db.execute(text(_SHOWN), {"ids": json.dumps(list(some))}).all()
        return [
            (key, (_decoded(body), created if type(created) is str else "", _STATUSES.get(status)))
            for key, created, body, status in rows
        ]

    found: Iterator[tuple[int, tuple[str, str, TurnStatus | None]]]
    found = each_readable(ids, look, lambda lost: (lost, _NO_WORDS))
    return dict(found)


def _decoded(body: object) -> str:
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else ""


def _node(grown: _Growing, words: dict[int, tuple[str, str, TurnStatus | None]]) -> TreeNode:
    said, created, status = words.get(grown.first.id, _NO_WORDS)
    return TreeNode(
        entry_id=grown.first.id,
        parent=grown.parent,
        last=grown.last,
        kind=grown.first.kind,
        text=said,
        created_at=created,
        status=status,
        inherited=grown.inherited,
    )
