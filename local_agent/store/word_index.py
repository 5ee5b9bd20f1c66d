"""The index of what was said: which entries have which terms. Written in the transaction of the entry."""

from __future__ import annotations

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError

from local_agent.domain.entries import Entry
from local_agent.domain.searching import SEARCHED, search_terms
from local_agent.store.failures import is_damage
from local_agent.store.stored_text import decode

OPTIMISE = "INSERT INTO entry_terms (entry_terms) VALUES ('optimize')"
"""Merges the index: until then what was forgotten stands in it, marked as gone."""
_ADD = "INSERT INTO entry_terms (rowid, terms) VALUES (?, ?)"
_FORGET = "INSERT INTO entry_terms (entry_terms, rowid, terms) VALUES ('delete', ?, ?)"
_SAID = " OR ".join(f"(kind = '{kind}' AND origin = '{origin}')" for kind, origin in sorted(SEARCHED))
_OF_SESSION = f"SELECT id, CAST(text AS BLOB) FROM entries WHERE session_id = ? AND ({_SAID})"
_PAGE = f"SELECT id, CAST(text AS BLOB) FROM entries WHERE id > ? AND ({_SAID}) ORDER BY id LIMIT 500"


def add(connection: Connection, entry: Entry) -> None:
    """Index a new entry, when it is of those that are searched."""
    if (entry.kind, entry.origin) in SEARCHED:
        _write(connection, entry.id, entry.text, _ADD)


def forget(connection: Connection, session_id: int) -> None:
    """Take the entries of a session out of the index while they are still there; ``OPTIMISE`` ends it."""
    for entry_id, stored in connection.exec_driver_sql(_OF_SESSION, (session_id,)).all():
        _write(connection, entry_id, _text(stored), _FORGET)


def is_there(connection: Connection) -> bool:
    """False before the revision that brings it."""
    query = "SELECT 1 FROM sqlite_master WHERE name = 'entry_terms'"
    return connection.exec_driver_sql(query).first() is not None


def rebuild(connection: Connection) -> None:
    """Make the whole index anew, also where it is damaged; what can't be read is left out."""
    _empty(connection)
    last = 0
    while rows := connection.exec_driver_sql(_PAGE, (last,)).all():
        for last, stored in rows:
            _write(connection, last, _text(stored), _ADD)


def _empty(connection: Connection) -> None:
    try:
        connection.exec_driver_sql("INSERT INTO entry_terms (entry_terms) VALUES ('delete-all')")
    except DBAPIError as error:
        if not is_damage(error):
            raise
        # A damaged one can't even be dropped: the rows of an empty one are put in the place of its own.
        (made,) = connection.exec_driver_sql("SELECT sql FROM sqlite_master WHERE name = 'entry_terms'").one()
        connection.exec_driver_sql(made.replace("TABLE entry_terms", "TABLE temp.unwritten", 1))
        for part in ("data", "idx", "config"):
            connection.exec_driver_sql(f"DELETE FROM main.entry_terms_{part}")
            connection.exec_driver_sql(
                f"INSERT INTO main.entry_terms_{part} SELECT * FROM temp.unwritten_{part}"
            )
        connection.exec_driver_sql("DROP TABLE temp.unwritten")


def _text(stored: object) -> str:
    """A text as it was written; nothing for what can't be read."""
    try:
        return decode(stored) if isinstance(stored, bytes) else ""
    except UnicodeDecodeError:
        return ""


def _write(connection: Connection, entry_id: int, text: str, statement: str) -> None:
    if terms := search_terms(text):
        connection.exec_driver_sql(statement, (entry_id, " ".join(sorted(terms))))
