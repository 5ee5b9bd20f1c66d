"""Bring a database to this program's revision: checked before, backed up before, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, event, insert

from local_agent.domain.crashpoints import reach
from local_agent.domain.errors import StoreError
from local_agent.store import word_index
from local_agent.store.clock import utc_now
from local_agent.store.copies import keep_copy
from local_agent.store.engine import driver_of, open_engine
from local_agent.store.examine import APPLICATION_ID, connect_readonly, has_log, unreadable
from local_agent.store.failures import DATABASE_ERRORS, explain
from local_agent.store.models import MigrationRow
from local_agent.store.patience import Patience
from local_agent.store.revisions import Revision, migrations_folder, pending, schema_number, shipped


def migrate(
    engine: Engine,
    path: Path | None,
    backups: Path,
    program_version: str,
    folder: Path | None = None,
    patience: Patience | None = None,
) -> int:
    """Apply what is pending and return the schema number; Alembic is imported only when something is.

    Two processes may do this at once: the second waits for the first one's transaction, then finds
    nothing left to do. ``path`` None: a database in memory. ``folder``: other migrations than our own.
    """
    step = _Migration(path, backups, folder or migrations_folder(), program_version)
    patience = patience or Patience()
    try:
        with engine.connect() as connection:
            if patience.until_free(lambda: step.pending(connection)):
                driver = driver_of(connection)
                # With foreign keys on, rebuilding a table would delete what points at it; this can be
                # switched only outside a transaction, and is checked as a whole before the commit.
                driver.execute("PRAGMA foreign_keys = OFF")
                patience.until_free(lambda: step.apply(connection), DATABASE_ERRORS)
                driver.execute("PRAGMA foreign_keys = ON")
    except DATABASE_ERRORS as error:
        raise explain(error) or error from error
    return schema_number(step.revisions)


def update_pending(path: Path, backups: Path, patience: Patience, folder: Path | None = None) -> bool:
    """Whether ``migrate`` has something to do; raises ``StoreError`` for a database that it refuses.

    Looks by itself, before anything is opened for writing: that alone could bring a log into the file.
    """
    revisions = shipped(folder or migrations_folder())
    with closing(connect_readonly(path, patience, alone=not has_log(path))) as connection:
        try:
            return bool(patience.until_free(lambda: pending(connection, path, backups, revisions)))
        except sqlite3.Error as error:
            raise unreadable(path, error) from error


class _Migration:
    """One database on its way to the newest revision."""

    def __init__(self, path: Path | None, backups: Path, folder: Path, program_version: str) -> None:
        self.revisions = shipped(folder)
        self._path = path
        self._backups = backups
        self._folder = folder
        self._program_version = program_version

    def pending(self, connection: Connection) -> list[Revision]:
        """Checks what the database records against what is shipped; raises ``StoreError``."""
        driver = driver_of(connection)
        (application,) = driver.execute("PRAGMA application_id").fetchone()
        if application != APPLICATION_ID:
            return self.revisions
        return pending(driver, self._path or Path("The database"), self._backups, self.revisions)

    def apply(self, connection: Connection) -> None:
        """Everything in one transaction: killed at any statement, the next start does it again."""
        kept: Path | None = None
        try:
            with connection.execution_options(writes=True).begin():
                todo = self.pending(connection)  # another process may have done it while we waited
                if not todo:
                    return
                kept = self._back_up(todo)
                self._advance(connection, todo)
                reach("migrate:before-commit")
        except BaseException:
            # Nothing was changed; kept, it would be one copy more with every start that fails.
            if kept is not None:
                kept.unlink(missing_ok=True)
            raise
        reach("migrate:after-commit")

    def _back_up(self, todo: Sequence[Revision]) -> Path | None:
        if todo == self.revisions or self._path is None:
            return None
        try:
            with closing(connect_readonly(self._path)) as source:
                return keep_copy(source, self._path, self._backups, f"before-{todo[0].revision}")
        except StoreError as error:
            raise StoreError(f"The database needs an update. {error.line}", error.hint, error.raw) from error

    def _advance(self, connection: Connection, todo: Sequence[Revision]) -> None:
        event.listen(connection, "before_cursor_execute", _each_statement)
        _upgrade(connection, self._folder)
        if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
            raise StoreError(
                "The database was not updated: rows would point at nothing.",
                "It is as it was; install the version that you had.",
            )
        # What an entry is found by is this program's to say, not a revision's.
        if word_index.is_there(connection):
            word_index.rebuild(connection)
        self._record(connection, todo)

    def _record(self, connection: Connection, todo: Sequence[Revision]) -> None:
        rows = [
            {
                "revision": each.revision,
                "file_name": each.file_name,
                "digest": each.digest,
                "applied_at": utc_now(),
                "program_version": self._program_version,
            }
            for each in todo
        ]
        connection.execute(insert(MigrationRow), rows)
        connection.exec_driver_sql(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.exec_driver_sql(f"PRAGMA user_version = {schema_number(self.revisions)}")


def schema_of(database: sqlite3.Connection) -> set[tuple[str, str, str, str | None]]:
    """Type, name, table and SQL of everything but what SQLite keeps for itself."""
    query = "SELECT type, name, tbl_name, sql FROM sqlite_master WHERE name NOT LIKE 'sqlite^_%' ESCAPE '^'"
    return set(database.execute(query))


def schema_built(revision: str, folder: Path | None = None) -> set[tuple[str, str, str, str | None]]:
    """What the migrations build up to ``revision``."""
    with open_engine(None).connect() as connection:
        _upgrade(connection, folder or migrations_folder(), revision)
        return schema_of(driver_of(connection))


def _upgrade(connection: Connection, folder: Path, revision: str = "head") -> None:
    from alembic import command  # 300 ms that only a start with something to do pays
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    command.upgrade(config, revision)


def _each_statement(*_: object) -> None:
    reach("migrate:statement")
