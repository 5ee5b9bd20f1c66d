"""A file that is not ours to write is refused in one line, and stays as it is to the last byte."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.errors import StoreError
from local_agent.store.copies import back_up
from local_agent.store.revisions import migrations_folder, shipped
from local_agent.store.store import Store
from tests.proofs.revisions import NEXT_VERSION, bring_up, first, one_more
from tests.store.samples import VERSION
from tests.store.test_migrations import build
from tests.support.crash import crash_at

INSTALL = "Install that version."
CHECK = "local-agent db check"
CHECK_IT = "local-agent db check"
NO_COPY = "There is no copy of it."


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
    bring_up(str(database), str(one_more(database.parent.parent / "migrations")))


def a_copy_of_a_newer(database: Path) -> None:
    newer(database)
    execute(database, "PRAGMA journal_mode = DELETE")


def with_a_log_of_a_newer(database: Path) -> None:
    """Its process died; what it was updated with stands in the log alone."""
    build(str(database))
    folder = one_more(database.parent.parent / "migrations")
    crash_at("migrate:after-commit", bring_up, str(database), str(folder))


def another_source(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE schema_migrations SET digest = 'abc', program_version = '0.0.9'")


def another_name(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE schema_migrations SET file_name = '0001_other.py'")


def stamp_disagrees(database: Path) -> None:
    build(str(database))
    execute(database, "UPDATE alembic_version SET version_num = '0006'")


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


def cut_short(database: Path) -> None:
    build(str(database))
    os.truncate(database, 4096)


def folder(database: Path) -> None:
    database.mkdir()


def named_pipe(database: Path) -> None:
    os.mkfifo(database)


def device(database: Path) -> None:
    database.symlink_to("/dev/full")


def content(folder: Path) -> dict[str, tuple[int, str]]:
    """Mode and digest of everything in a folder."""
    return {
        str(each.relative_to(folder)): (
            each.lstat().st_mode,
            hashlib.sha256(each.read_bytes()).hexdigest() if each.is_file() else "",
        )
        for each in sorted(folder.rglob("*"))
        # Any reader of a shared database makes an index and a log that is empty.
        if not each.name.endswith("-shm") and (not each.name.endswith("-wal") or each.stat().st_size)
    }


@pytest.mark.parametrize(
    ("make", "line", "hint"),
    [
        (text_file, "is no SQLite database", "LOCAL_AGENT_HOME"),
        (foreign_tables, "belongs to another program", "LOCAL_AGENT_HOME"),
        (foreign_tables_in_a_log, "belongs to another program", "LOCAL_AGENT_HOME"),
        (foreign_application, "belongs to another program", "LOCAL_AGENT_HOME"),
        (only_a_foreign_number, "belongs to another program", "LOCAL_AGENT_HOME"),
        (newer, f"a newer local-agent, {NEXT_VERSION} (it has 0006_next.py)", INSTALL),
        (a_copy_of_a_newer, f"a newer local-agent, {NEXT_VERSION} (it has 0006_next.py)", INSTALL),
        (with_a_log_of_a_newer, f"a newer local-agent, {NEXT_VERSION} (it has 0006_next.py)", INSTALL),
        (another_source, "another 0001_conversations.py", "Install local-agent 0.0.9 again."),
        (another_name, "another 0001_other.py", NO_COPY),
        (stamp_disagrees, "records revision 0005 and is marked 0006", CHECK_IT),
        (record_is_gone, "records revision None and is marked 0005", CHECK_IT),
        (tables_are_gone, "has lost tables", NO_COPY),
        (damaged, "is damaged", CHECK),
        (cut_short, "is damaged", CHECK),
        (folder, "it is no file", "LOCAL_AGENT_HOME"),
        (named_pipe, "it is no file", "LOCAL_AGENT_HOME"),
        (device, "it is no file", "LOCAL_AGENT_HOME"),
    ],
)
def test_what_is_not_ours_to_write_stays_as_it_is(
    database: Path, make: Callable[[Path], None], line: str, hint: str
) -> None:
    database.parent.mkdir()
    make(database)
    before = content(database.parent)

    with pytest.raises(StoreError) as refusal:
        Store.open(database, program_version=VERSION)

    assert line in refusal.value.line
    assert str(database) in refusal.value.line
    assert hint in refusal.value.hint
    assert "\n" not in str(refusal.value)
    assert content(database.parent) == before


def test_a_changed_byte_in_a_recorded_migration_is_refused(built: Path, tmp_path: Path) -> None:
    changed = first(1, migrations_folder(), tmp_path / "changed")
    source = changed / "versions" / shipped(changed)[0].file_name
    source.write_bytes(source.read_bytes().replace(b"Workspaces", b"workspaces", 1))
    before = content(built.parent)

    with pytest.raises(StoreError, match=f"another {source.name} than this program ships") as refusal:
        bring_up(str(built), str(changed))
    assert f"Install local-agent {VERSION} again." in refusal.value.hint
    assert content(built.parent) == before


def test_a_refusal_names_the_copy_to_go_back_to(built: Path, tmp_path: Path) -> None:
    """The newest that this program can read: the one that the newer program made before its update."""
    ahead = one_more(tmp_path / "migrations")
    bring_up(str(built), str(ahead))
    (before,) = (built.parent / "backups").iterdir()
    back_up(built, None, built.parent / "backups")

    with pytest.raises(StoreError) as refusal:
        Store.open(built, program_version=VERSION)
    assert refusal.value.hint.endswith(f"Go back to a copy with: local-agent db restore {before}")


def test_another_programs_file_gets_no_company(database: Path) -> None:
    database.parent.mkdir()
    foreign_application(database)
    with pytest.raises(StoreError):
        Store.open(database, program_version=VERSION)

    assert [each.name for each in database.parent.iterdir()] == [database.name]


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError) as refusal:
        Store.open(tmp_path / "file" / "home" / "local-agent.db", program_version=VERSION)

    assert "--no-save" in refusal.value.hint
    assert "can't be" in refusal.value.line


def test_a_folder_that_takes_no_files_is_refused() -> None:
    with pytest.raises(StoreError, match="can't be"):
        Store.open(Path("/proc/local-agent/local-agent.db"), program_version=VERSION)
