"""Bring a database to this program's revision: checked before, backed up before, in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from sqlalchemy import Connection, Engine, event, insert

from local_agent.config.private_files import private_folder
from local_agent.domain.crashpoints import reach
from local_agent.domain.errors import StoreError
from local_agent.store.clock import utc_now
from local_agent.store.engine import driver_of, make_private_file, sync_folder
from local_agent.store.examine import APPLICATION_ID, connect_readonly
from local_agent.store.failures import DATABASE_ERRORS, explain
from local_agent.store.models import MigrationRow
from local_agent.store.patience import Patience
from local_agent.store.revisions import (
    Applied,
    Revision,
    migrations_folder,
    pending,
    schema_number,
    shipped,
)

_APPLIED = """
    SELECT revision, file_name, digest, program_version, version_num
    FROM (SELECT max(version_num) AS version_num FROM alembic_version) LEFT JOIN schema_migrations
    ORDER BY revision
"""


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
        try:
            rows = driver.execute(_APPLIED).fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_ERROR:
                raise
            raise StoreError(
                f"{self._path} has lost tables.", f"Go back to a copy from {self._backups}.", str(error)
            ) from error
        applied = [Applied(*row[:4]) for row in rows if row[0] is not None]
        name = self._path or Path("The database")
        return pending(name, self._backups, self.revisions, applied, rows[0][4])

    def apply(self, connection: Connection) -> None:
        """Everything in one transaction: killed at any statement, the next start does it again."""
        with connection.execution_options(writes=True).begin():
            todo = self.pending(connection)  # another process may have done it while we waited
            if not todo:
                return
            if todo != self.revisions and self._path is not None:
                back_up(self._path, self._backups, todo[0])
            event.listen(connection, "before_cursor_execute", _each_statement)
            _upgrade(connection, self._folder)
            if connection.exec_driver_sql("PRAGMA foreign_key_check").first() is not None:
                raise StoreError(
                    "The database was not updated: rows would point at nothing.", self._way_back()
                )
            self._record(connection, todo)
            reach("migrate:before-commit")
        reach("migrate:after-commit")

    def _way_back(self) -> str:
        return f"It is as it was, with a copy in {self._backups}; use the version that you had."

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


def back_up(path: Path, backups: Path, first: Revision) -> Path:
    """A whole copy through SQLite's backup API, on disk under its name or not there at all."""
    stamp = utc_now().replace(":", "").replace("-", "").partition(".")[0]
    target = backups / f"{path.stem}-{stamp}-before-{first.revision}.db"
    scratch = target.with_suffix(".partial")
    try:
        private_folder(backups)
        scratch.unlink(missing_ok=True)
        make_private_file(scratch)
        with closing(connect_readonly(path)) as source, closing(sqlite3.connect(scratch)) as copy:
            source.backup(copy)
        scratch.replace(target)
        sync_folder(backups)
    except OSError as error:
        raise StoreError(
            f"The database needs an update, and no copy of it can be put into {backups}: {error.strerror}.",
            "Make the folder writable or free some space, then start again.",
            str(error),
        ) from error
    return target


def _upgrade(connection: Connection, folder: Path) -> None:
    from alembic import command  # 300 ms that only a start with something to do pays
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    command.upgrade(config, "head")


def _each_statement(*_: object) -> None:
    reach("migrate:statement")
