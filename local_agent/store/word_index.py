"""The index of what was said: which entries have which terms. Written in the transaction of the entry."""

from __future__ import annotations

from sqlalchemy import Connection

from local_agent.domain.entries import Entry
from local_agent.domain.searching import SEARCHED, search_terms
from local_agent.store.stored_text import decode

_ADD = "INSERT INTO entry_terms (rowid, terms) VALUES (?, ?)"
_SAID = " OR ".join(f"(kind = '{kind}' AND origin = '{origin}')" for kind, origin in sorted(SEARCHED))
_PAGE = f"SELECT id, CAST(text AS BLOB) FROM entries WHERE id > ? AND ({_SAID}) ORDER BY id LIMIT 500"


def add(connection: Connection, entry: Entry) -> None:
    """Index a new entry, when it is of those that are searched."""
    if (entry.kind, entry.origin) in SEARCHED:
        _write(connection, entry.id, entry.text)


def rebuild(connection: Connection) -> None:
    """Make the whole index anew; what can't be read is left out."""
    connection.exec_driver_sql("INSERT INTO entry_terms (entry_terms) VALUES ('delete-all')")
    last = 0
    while rows := connection.exec_driver_sql(_PAGE, (last,)).all():
        for last, stored in rows:
            try:
                _write(connection, last, decode(stored) if isinstance(stored, bytes) else "")
            except UnicodeDecodeError:
                continue


def _write(connection: Connection, entry_id: int, text: str) -> None:
    if terms := search_terms(text):
        connection.exec_driver_sql(_ADD, (entry_id, " ".join(sorted(terms))))
