"""A file that is not ours to write is refused in one line, and stays as it is to the last byte."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.errors import StoreError
from local_agent.store.store import Store
from tests.store.samples import VERSION
from tests.store.test_migrations import build


def execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database)) as db:
        for statement in statements:
            db.execute(statement)
        db.commit()


def text_file(database: Path) -> None:
    database.write_text("This is a letter, and no database.\n" * 100)


def foreign_tables(database: Path) -> None:
    execute(
        database,
        "CREATE TABLE songs (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO songs VALUES (1, 'x')",
    )


def foreign_tables_in_a_log(database: Path) -> None:
    execute(database, "PRAGMA journal_mode = WAL")
    foreign_tables(database)


def foreign_application(database: Path) -> None:
    execute(database, "PRAGMA application_id = 12345", "CREATE TABLE t (a)")


def only_a_foreign_number(database: Path) -> None:
    execute(database, "PRAGMA application_id = 12345")


def newer(database: Path) -> None:
    build(str(database))
    execute(
        database,
        "INSERT INTO schema_migrations VALUES ('0099', '0099_far.py', 'abc', '2027-01-01', '9.9.9')",
        "UPDATE alembic_version SET version_num = '0099'",
        "PRAGMA user_version = 99",
    )


def another_source(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE schema_migrations SET digest = 'abc', program_version = '0.0.9'")


def another_name(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE schema_migrations SET file_name = '0001_other.py'")


def stamp_disagrees(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE alembic_version SET version_num = '0002'")


def record_is_gone(database: Path) -> None:
    build(str(database))
    execute(database, "DELETE FROM schema_migrations")


def tables_are_gone(database: Path) -> None:
    build(str(database))
    execute(database, "DROP TABLE schema_migrations", "DROP TABLE alembic_version")


def damaged(database: Path) -> None:
    build(str(database))
    execute(database, "PRAGMA wal_checkpoint(TRUNCATE)")
    data = bytearray(database.read_bytes())
    data[100:4096] = b"\xa5" * 3996
    database.write_bytes(data)


@pytest.mark.parametrize(
    ("make", "line", "hint"),
    [
        (text_file, "is no SQLite database", "LOCAL_AGENT_HOME"),
        (foreign_tables, "belongs to another program", "LOCAL_AGENT_HOME"),
        (foreign_tables_in_a_log, "belongs to another program", "LOCAL_AGENT_HOME"),
        (foreign_application, "belongs to another program", "LOCAL_AGENT_HOME"),
        (only_a_foreign_number, "belongs to another program", "LOCAL_AGENT_HOME"),
        (newer, "a newer local-agent, 9.9.9 (it has 0099_far.py)", "backups"),
        (another_source, "another 0001_conversations.py", "local-agent 0.0.9"),
        (another_name, "another 0001_other.py", "backups"),
        (stamp_disagrees, "records revision 0001 and is marked 0002", "backups"),
        (record_is_gone, "records revision None and is marked 0001", "backups"),
        (tables_are_gone, "has lost tables", "backups"),
        (damaged, "damaged", "db check"),
    ],
)
def test_a_file_that_is_not_ours_to_write_stays_as_it_is(
    database: Path, make: Callable[[Path], None], line: str, hint: str
) -> None:
    database.parent.mkdir()
    make(database)
    before = hashlib.sha256(database.read_bytes()).hexdigest()

    with pytest.raises(StoreError) as refusal:
        Store.open(database, program_version=VERSION)

    assert line in refusal.value.line
    assert str(database) in refusal.value.line or line == "damaged"
    assert hint in refusal.value.hint
    assert "\n" not in str(refusal.value)
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert not (database.parent / "backups").exists()


def test_another_programs_file_gets_no_company(database: Path) -> None:
    database.parent.mkdir()
    foreign_application(database)
    with pytest.raises(StoreError):
        Store.open(database, program_version=VERSION)

    assert [each.name for each in database.parent.iterdir()] == [database.name]


def test_a_folder_in_its_place_is_refused(database: Path) -> None:
    database.mkdir(parents=True)
    with pytest.raises(StoreError, match="can't be"):
        Store.open(database, program_version=VERSION)


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as refusal:
        Store.open(tmp_path / "file" / "home" / "local-agent.db", program_version=VERSION)

    assert "--no-save" in refusal.value.hint
    assert "can't be" in refusal.value.line


def test_a_folder_that_takes_no_files_is_refused() -> None:
    with pytest.raises(StoreError, match="can't be"):
        Store.open(Path("/proc/local-agent/local-agent.db"), program_version=VERSION)
