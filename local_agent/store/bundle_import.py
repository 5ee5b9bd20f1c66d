"""Writes the rows of a bundle as another session, under ids of this database."""

from __future__ import annotations

from sqlalchemy import insert, text
from sqlalchemy.dialects.sqlite import insert as upsert
from sqlalchemy.orm import Session

from local_agent.domain.bundles import Row, Rows
from local_agent.domain.entries import Entry, Kind, Origin
from local_agent.domain.ledger import new_execution_id
from local_agent.domain.modes import Mode
from local_agent.domain.sessions import SessionInfo
from local_agent.store import drafts, forks, sessions, word_index
from local_agent.store.bundle_tables import LEDGER_NUMBERS, NUMBERED, TABLES, with_places
from local_agent.store.models import Base, PromptTextRow, SessionRow

_LAST = text("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = :table")
_BY_HAND = ("sessions", "prompt_texts", "drafts")


def write(db: Session, rows: Rows, root: str, git_root_commit: str | None) -> SessionInfo:
    """A session of the folder ``root``, of rows that are sound. Nobody holds it, and it is the newest."""
    for row in rows["prompt_texts"]:
        db.execute(upsert(PromptTextRow).values(**row).on_conflict_do_nothing())
    new = _NewIds(db, rows)
    session = _insert_session(db, rows["sessions"][0], sessions.workspace_id(db, root, git_root_commit))
    connection = db.connection()
    for table in TABLES:
        if rows[table] and table not in _BY_HAND:
            values = [new.row(table, number, row, session.id) for number, row in enumerate(rows[table], 1)]
            connection.execute(insert(Base.metadata.tables[table]), values)
    session.head = new.id("entries", rows["sessions"][0]["head"])
    session.fork_entry = new.id("entries", rows["sessions"][0]["fork_entry"])
    session.last_entry = new.last["entries"] + len(rows["entries"])
    db.flush()
    for number, row in enumerate(rows["entries"], 1):
        key = new.last["entries"] + number
        word_index.add(
            connection,
            Entry(key, session.id, None, None, Kind(row["kind"]), Origin(row["origin"]), row["text"]),
        )
    for row in rows["drafts"]:
        drafts.save(db, root, session.id, drafts.draft_of(row["text"], row["queue"], row["pictures"]))
    return sessions.by_id(db, session.id)


class _NewIds:
    """What the rows of a bundle are called here: they follow on what there is, in their order."""

    def __init__(self, db: Session, rows: Rows) -> None:
        self.last = {table: db.execute(_LAST, {"table": table}).scalar_one() for table in NUMBERED}
        self._executions = [new_execution_id() for _ in rows["executions"]]

    def id(self, table: str, place: int | None) -> int | None:
        """Of the row at a place."""
        return None if place is None else self.last[table] + place

    def row(self, table: str, number: int, row: Row, session_id: int) -> Row:
        """A row with all its columns but those that the database fills."""
        if table == "entries":
            row = with_places(row, lambda place: self.last["entries"] + place if place else 0)
        values = {
            field.name: self._name(field.refers, row[field.name]) if field.refers else row[field.name]
            for field in TABLES[table]
        }
        if (name := LEDGER_NUMBERS.get(table)) is not None:
            values[name] = self.id("execution_events", row[name])
        if table in NUMBERED:
            values[NUMBERED[table]] = self.id(table, number)
        if table == "executions":
            values["id"] = self._executions[number - 1]
        if "session_id" in Base.metadata.tables[table].columns:
            values["session_id"] = session_id
        return values

    def _name(self, table: str, place: int | None) -> int | str | None:
        """What a row is referred to by."""
        if table == "executions" and place is not None:
            return self._executions[place - 1]
        return self.id(table, place)


def _insert_session(db: Session, row: Row, workspace_id: int) -> SessionRow:
    # Nobody here has agreed to what runs in AUTO without a question.
    mode = Mode.NORMAL if row["mode"] == Mode.AUTO else row["mode"]
    values = {**row, "mode": mode, "head": None, "fork_entry": None}
    session = SessionRow(
        **values, handle=forks.free_handle(db), workspace_id=workspace_id, trashed=False, last_entry=0
    )
    db.add(session)
    db.flush()
    return session
