"""Deletes a session for good: the one place that takes the triggers away that keep rows from changing.

What other sessions stand on becomes theirs before the rest goes, all in one transaction.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session

from local_agent.domain.entries import Kind
from local_agent.domain.errors import StoreError
from local_agent.domain.purging import Footprint, Purged
from local_agent.store import word_index
from local_agent.store.examine import connect_readonly
from local_agent.store.models import SessionRow

WIPE_SECONDS = 10.0
_DIGEST = re.compile(rb"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")

_OWN = "SELECT id, parent, kept_from, kind FROM entries WHERE session_id = ? ORDER BY id"
_ROOTS = """
    SELECT session_id, parent FROM entries WHERE session_id <> :purged
    UNION SELECT session_id, kept_from FROM entries WHERE session_id <> :purged
    UNION SELECT id, head FROM sessions WHERE id <> :purged
    UNION SELECT id, fork_entry FROM sessions WHERE id <> :purged
    UNION SELECT session_id, from_entry FROM head_moves WHERE session_id <> :purged
    UNION SELECT session_id, to_entry FROM head_moves WHERE session_id <> :purged
    UNION SELECT session_id, entry_id FROM checkpoints WHERE session_id <> :purged
    UNION SELECT session_id, parent FROM open_replies WHERE session_id <> :purged
    ORDER BY 1
"""
# An entry takes along its turn, the calls that it made, and what the ledger keeps of those.
_FOLLOW = (
    """
    UPDATE turns SET session_id = owner.session_id FROM (
        SELECT turn_id, min(session_id) AS session_id FROM entries
        WHERE session_id <> :purged AND turn_id IS NOT NULL GROUP BY turn_id
    ) AS owner WHERE turns.session_id = :purged AND turns.id = owner.turn_id
    """,
    """
    UPDATE executions SET session_id = entries.session_id FROM entries
    WHERE executions.session_id = :purged AND entries.id = executions.entry_id
    """,
    """
    UPDATE execution_events SET session_id = executions.session_id FROM executions
    WHERE execution_events.session_id = :purged AND executions.id = execution_events.execution_id
    """,
    """
    UPDATE error_records SET session_id = turns.session_id FROM turns
    WHERE error_records.session_id = :purged AND turns.id = error_records.turn_id
    """,
)
_FAMILY = (
    # Its forks go on as forks of the oldest of them, which has become the owner of what they share.
    """
    UPDATE sessions SET parent_session = (SELECT min(id) FROM sessions WHERE parent_session = :purged)
    WHERE parent_session = :purged AND id > (SELECT min(id) FROM sessions WHERE parent_session = :purged)
    """,
    """
    UPDATE sessions SET parent_session = (SELECT parent_session FROM sessions WHERE id = :purged)
    WHERE parent_session = :purged
    """,
)
_OF_CALLS = "execution_id IN (SELECT id FROM executions WHERE session_id = :purged)"
_DELETE = (
    f"DELETE FROM file_changes WHERE {_OF_CALLS}",
    f"DELETE FROM reconciliations WHERE {_OF_CALLS}",
    "DELETE FROM execution_events WHERE session_id = :purged",
    "DELETE FROM executions WHERE session_id = :purged",
    "DELETE FROM attachments WHERE entry_id IN (SELECT id FROM entries WHERE session_id = :purged)",
    "DELETE FROM error_records WHERE session_id = :purged",
    "DELETE FROM open_replies WHERE session_id = :purged",
    "DELETE FROM head_moves WHERE session_id = :purged",
    "DELETE FROM checkpoints WHERE session_id = :purged",
    "DELETE FROM drafts WHERE session_id = :purged",
    "DELETE FROM leases WHERE session_id = :purged",
    "DELETE FROM entries WHERE session_id = :purged",
    "DELETE FROM turns WHERE session_id = :purged",
    "DELETE FROM sessions WHERE id = :purged",
    """
    DELETE FROM prompt_texts
    WHERE NOT EXISTS (SELECT 1 FROM turns WHERE turns.prompt_digest = prompt_texts.digest)
    """,
)
# Who refers to a row is looked for at each delete; without these every one reads whole tables.
_LOOKED_UP = {
    "purge_kept_from": "entries (kept_from)",
    "purge_from_entry": "head_moves (from_entry)",
    "purge_to_entry": "head_moves (to_entry)",
    "purge_of_turn": "head_moves (turn_id)",
    "purge_prompt": "turns (prompt_digest)",
}
_NAMING = (
    "SELECT CAST(sha256 AS BLOB) FROM attachments",
    "SELECT CAST(before_digest || ' ' || after_digest AS BLOB) FROM file_changes",
    "SELECT CAST(detail AS BLOB) FROM execution_events",
    "SELECT CAST(pictures || ' ' || queue AS BLOB) FROM drafts",
)


def require_trashed(db: Session, session_id: int) -> None:
    """Raise ``StoreError`` for a session that is not in the trash."""
    row = db.get_one(SessionRow, session_id)
    if not row.trashed:
        raise StoreError(
            f"Session {row.handle} is not in the trash.",
            f"Put it there first: local-agent session trash {row.handle}",
        )


def footprint(db: Session, session_id: int) -> Footprint:
    """What a purge would take away."""
    connection = db.connection()

    def count(what: str) -> int:
        query = f"SELECT count(*) FROM {what} = ?"
        return int(connection.exec_driver_sql(query, (session_id,)).scalar_one())

    return Footprint(
        entries=count("entries WHERE session_id"),
        shared=len(_owners(connection, session_id)),
        executions=count("executions WHERE session_id"),
        pictures=count("attachments JOIN entries ON entries.id = entry_id WHERE session_id"),
        drafts=count("drafts WHERE session_id"),
        checkpoints=count("checkpoints WHERE session_id"),
    )


def purge(db: Session, session_id: int) -> Purged:
    """Delete a session that lies in the trash; the caller holds its lease."""
    require_trashed(db, session_id)
    handle = db.get_one(SessionRow, session_id).handle
    gone = footprint(db, session_id)
    db.expunge_all()
    connection = db.connection()
    named = named_objects(connection)
    triggers = connection.exec_driver_sql(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' ORDER BY name"
    ).all()
    connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
    for name, _ in triggers:
        connection.exec_driver_sql(f'DROP TRIGGER "{name}"')
    purged = {"purged": session_id}
    for entry_id, owner in _owners(connection, session_id).items():
        connection.exec_driver_sql("UPDATE entries SET session_id = ? WHERE id = ?", (owner, entry_id))
    indexed = _forgotten(connection, session_id)
    for index, columns in _LOOKED_UP.items():
        connection.exec_driver_sql(f"CREATE INDEX {index} ON {columns}")
    for statement in (*_FOLLOW, *_FAMILY, *_DELETE):
        connection.exec_driver_sql(statement, purged)
    for index in _LOOKED_UP:
        connection.exec_driver_sql(f"DROP INDEX {index}")
    if not indexed:
        word_index.rebuild(connection)
    for _, sql in triggers:
        connection.exec_driver_sql(sql)
    if broken := connection.exec_driver_sql("PRAGMA foreign_key_check").first():
        raise StoreError(
            f"Session {handle} can't be deleted: other rows need it.",
            "Nothing was changed. Look at the database with: local-agent db check",
            f"{broken[0]} row {broken[1]} refers to {broken[2]}",
        )
    return Purged(handle, gone, frozenset(named - named_objects(connection)))


def named_objects(connection: Connection) -> set[str]:
    """Digests of all objects that any row names."""
    found: set[str] = set()
    for query in _NAMING:
        rows = connection.exec_driver_sql(
            f"SELECT CAST(named AS BLOB) FROM ({query.replace(' FROM', ' AS named FROM', 1)})"
        )
        for (text,) in rows:
            found.update(digest.decode() for digest in _DIGEST.findall(text or b""))
    return found


def wipe(path: Path) -> bool:
    """Write the database anew without its free pages, and empty its log. Blocking.

    False when another process holds on to what was, or the disk takes no second copy.
    """
    try:
        with closing(sqlite3.connect(path, timeout=WIPE_SECONDS, isolation_level=None)) as connection:
            connection.execute("PRAGMA secure_delete = ON")
            connection.execute(word_index.OPTIMISE)
            connection.execute("VACUUM")
            (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.Error:
        return False
    return not busy


def holds(path: Path, handle: str) -> bool | None:
    """Whether a copy of the database has the session; None when that can't be read."""
    try:
        with closing(connect_readonly(path)) as connection:
            found = connection.execute("SELECT 1 FROM sessions WHERE handle = ?", (handle,)).fetchone()
    except (sqlite3.Error, StoreError):
        return None
    return found is not None


def _forgotten(connection: Connection, session_id: int) -> bool:
    """Whether the index let go of a session; one that lacks some of its entries has to be made anew."""
    try:
        word_index.forget(connection, session_id)
    except DatabaseError:
        return False
    return True


def _owners(connection: Connection, session_id: int) -> dict[int, int]:
    """The entries of a session that others stand on, each with the oldest session that does."""
    own = connection.exec_driver_sql(_OWN, (session_id,)).all()
    below = {entry: (parent, kept_from) for entry, parent, kept_from, _ in own}
    owners: dict[int, int] = {}
    waiting: defaultdict[int, list[int]] = defaultdict(list)
    for owner, root in connection.exec_driver_sql(_ROOTS, {"purged": session_id}):
        waiting[owner].append(root)
    for owner, roots in waiting.items():
        while roots:
            entry = roots.pop()
            if entry in below and entry not in owners:
                owners[entry] = owner
                roots += below[entry]
    for entry, parent, _, kind in own:
        if kind == Kind.RESULT and parent in owners:
            owners.setdefault(entry, owners[parent])
    return owners
