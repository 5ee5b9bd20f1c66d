"""Reads all that is settled of a session: its own rows, and what it stands on as a fork."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from typing import Any

from sqlalchemy import ColumnElement, select, text
from sqlalchemy.orm import Session

from local_agent.domain.bundles import NoBundle, Row, Rows, SettledRows
from local_agent.domain.entries import TurnStatus
from local_agent.domain.errors import StoreError
from local_agent.domain.ledger import TERMINAL
from local_agent.store import sessions
from local_agent.store.batches import batches
from local_agent.store.bundle_check import require_sound
from local_agent.store.bundle_tables import LEDGER_NUMBERS, NUMBERED, TABLES, with_places
from local_agent.store.models import Base

_ENTRIES = text("""
    WITH RECURSIVE stood_on (id) AS (
        SELECT id FROM entries WHERE session_id = :session
        UNION SELECT fork_entry FROM sessions WHERE id = :session
        UNION SELECT head FROM sessions WHERE id = :session
        UNION SELECT from_entry FROM head_moves WHERE session_id = :session
        UNION SELECT to_entry FROM head_moves WHERE session_id = :session
        UNION SELECT entry_id FROM checkpoints WHERE session_id = :session
        UNION SELECT above.id FROM stood_on JOIN entries AS e ON e.id = stood_on.id
              JOIN entries AS above ON above.id IN (e.parent, e.kept_from)
    )
    SELECT id FROM stood_on WHERE id IS NOT NULL
    UNION SELECT id FROM entries WHERE kind = 'result' AND parent IN (SELECT id FROM stood_on)
    ORDER BY 1
""")
_SCHEMA = text("SELECT max(revision) FROM schema_migrations")


def read(db: Session, handle: str) -> SettledRows:
    """The rows of a bundle, whoever holds the session. Raises ``UnknownSession``; ``StoreError`` for one of
    which nothing is settled, and for one with rows that the program can't have written.
    """
    info = sessions.by_handle(db, handle)
    found = _Found(db, info.id)
    if not found.rows["entries"]:
        raise StoreError(
            f"Nothing of session {info.handle} is settled yet, so there is nothing to bundle.",
            "Try again once it has an answer.",
        )
    try:
        rows = _placed(found.rows)
        require_sound(rows)
    except NoBundle as error:
        line = f"Session {info.handle} {error}. It can't be bundled."
        raise StoreError(line, "Look at the database with: local-agent db check") from error
    return SettledRows(rows, db.execute(_SCHEMA).scalar_one(), found.left_out)


class _Found:
    """Rows as they are stored, in the order of their keys, without what is not settled."""

    def __init__(self, db: Session, session_id: int) -> None:
        self._db = db
        self._session_id = session_id
        self.left_out = False
        entries = self._among("entries", "id", db.scalars(_ENTRIES, {"session": session_id}).all())
        own_turns = self._own("turns")
        turns = self._merged("turns", own_turns, self._among("turns", "id", _ids(entries, "turn_id")))
        running = {row["id"] for row in turns if row["status"] == TurnStatus.RUNNING}
        entries = self._without_running(entries, running)
        kept = {None, *_ids(entries, "id")}
        self.rows: dict[str, list[Row]] = {
            "turns": self._kept(turns, lambda row: row["id"] not in running),
            "entries": entries,
            "attachments": self._among("attachments", "entry_id", _ids(entries, "id")),
            "drafts": self._own("drafts"),
        }
        self._move(kept, running, sum(row["id"] in running for row in own_turns))
        at = self._own("checkpoints")
        self.rows["checkpoints"] = self._kept(at, lambda row: row["entry_id"] in kept)
        digests = _ids(self.rows["turns"], "prompt_digest")
        self.rows["prompt_texts"] = self._among("prompt_texts", "digest", digests)
        failed = self._among("error_records", "turn_id", _ids(self.rows["turns"], "id"))
        own = self._kept(self._own("error_records"), lambda row: row["turn_id"] not in running)
        self.rows["error_records"] = self._merged("error_records", own, failed)
        self._read_ledger()

    def _move(self, kept: set[Any], running: set[int], begun: int) -> None:
        """The session where its last settled move left it, without ``begun`` turns."""
        (session,) = self._read("sessions", _column("sessions", "id") == self._session_id)
        moves = self._own("head_moves")
        settled = list(
            takewhile(
                lambda row: row["turn_id"] not in running and {row["from_entry"], row["to_entry"]} <= kept,
                moves,
            )
        )
        if len(settled) < len(moves):
            session["head"] = settled[-1]["to_entry"] if settled else session["fork_entry"]
        session["turn_count"] -= begun
        self.rows |= {"sessions": [session], "head_moves": settled}

    def _read_ledger(self) -> None:
        called = self._among("executions", "entry_id", _ids(self.rows["entries"], "id"))
        alone = self._read(
            "executions",
            _column("executions", "session_id") == self._session_id,
            _column("executions", "entry_id").is_(None),
        )
        begun = self._among("execution_events", "execution_id", _ids(alone, "id"))
        over = {row["execution_id"] for row in begun if row["kind"] in TERMINAL}
        alone = self._kept(alone, lambda row: row["id"] in over)
        for row in alone:
            row |= {"turn_id": None, "entry_id": None, "call_number": None}
        executions = self.rows["executions"] = self._merged("executions", called, alone)
        for table in ("execution_events", "reconciliations", "file_changes"):
            self.rows[table] = self._among(table, "execution_id", _ids(executions, "id"))

    def _without_running(self, entries: list[Row], running: set[int]) -> list[Row]:
        """Nor what stands on an entry of a turn that runs."""
        gone: set[int] = set()
        for row in entries:
            if row["turn_id"] in running or row["parent"] in gone or row["kept_from"] in gone:
                gone.add(row["id"])
        return self._kept(entries, lambda row: row["id"] not in gone)

    def _kept(self, rows: list[Row], settled: Callable[[Row], bool]) -> list[Row]:
        found = [row for row in rows if settled(row)]
        self.left_out = self.left_out or len(found) < len(rows)
        return found

    def _own(self, table: str) -> list[Row]:
        return self._read(table, _column(table, "session_id") == self._session_id)

    def _among(self, table: str, column: str, keys: Sequence[Any]) -> list[Row]:
        found = [row for some in batches(keys) for row in self._read(table, _column(table, column).in_(some))]
        return self._merged(table, found)

    def _merged(self, table: str, *parts: Iterable[Row]) -> list[Row]:
        """Each row once, by its key."""
        names = [column.name for column in Base.metadata.tables[table].primary_key]
        rows = {tuple(row[name] for name in names): row for part in parts for row in part}
        return [rows[key] for key in sorted(rows)]

    def _read(self, table: str, *where: ColumnElement[bool]) -> list[Row]:
        found = Base.metadata.tables[table]
        query = select(found).where(*where).order_by(*found.primary_key)
        return [dict(row) for row in self._db.execute(query).mappings()]


def _column(table: str, name: str) -> ColumnElement[Any]:
    return Base.metadata.tables[table].columns[name]


def _ids(rows: Iterable[Row], name: str) -> list[Any]:
    return sorted({row[name] for row in rows} - {None})


def _placed(rows: dict[str, list[Row]]) -> Rows:
    """Rows that name each other by their places. 0 for one that is not there."""
    keys = {table: "id" if table == "executions" else key for table, key in NUMBERED.items()}
    places = {
        table: {row[key]: place for place, row in enumerate(rows[table], 1)} for table, key in keys.items()
    }
    entries = [row["id"] for row in rows["entries"]]
    events = [row["number"] for row in rows["execution_events"]]

    def placed(table: str, row: Row) -> Row:
        if table == "entries":
            row = with_places(row, lambda key: bisect_right(entries, key))
        if (name := LEDGER_NUMBERS.get(table)) and row[name] is not None:
            row = {**row, name: bisect_right(events, row[name])}
        return {
            field.name: places[field.refers].get(row[field.name], 0)
            if field.refers and row[field.name] is not None
            else row[field.name]
            for field in TABLES[table]
        }

    found = {table: [placed(table, row) for row in rows[table]] for table in TABLES}
    # Their key is no number, and is another one wherever the session is stored.
    found["reconciliations"].sort(key=lambda row: row["execution_id"])
    return found
