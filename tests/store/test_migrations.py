"""The database is built and brought up to date in one step, whoever starts at once and whatever dies."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from local_agent.domain.errors import StoreError
from local_agent.store.engine import open_engine
from local_agent.store.migrate import migrate
from local_agent.store.models import Base
from local_agent.store.revisions import migrations_folder, shipped
from local_agent.store.store import Store
from tests.store.samples import VERSION, opening, reply_half, talk
from tests.support.crash import crash_at

PROJECT = Path(__file__).parents[2]
LANDED = Path(__file__).with_name("landed_revisions.txt")
SECOND = '''"""A second step."""

from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE sessions ADD COLUMN pinned BOOLEAN NOT NULL DEFAULT 0")
    op.execute("CREATE TABLE additions (id INTEGER NOT NULL PRIMARY KEY)")
    op.execute("CREATE TABLE rebuilt AS SELECT * FROM drafts")
    op.execute("DROP TABLE drafts")
    op.execute("ALTER TABLE rebuilt RENAME TO drafts")
'''


def upgrade(database: str, folder: str = "") -> None:
    """Child, too: bring a database up to date with the migrations of ``folder``."""
    path = Path(database)
    engine = open_engine(path)
    migrate(engine, path, path.parent / "backups", "0.2.0", Path(folder) if folder else None)


def build(database: str) -> None:
    """Child: what a start does."""
    Store.open(Path(database), program_version=VERSION)


def content(database: Path) -> dict[str, list[Any]]:
    """Every row of every table, and the schema itself."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        tables = [name for kind, name, _, _ in schema if kind == "table"]
        return {"": schema, **{name: db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}}


def pragma(database: Path, name: str) -> object:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]


@pytest.fixture
def two_steps(tmp_path: Path) -> Path:
    """The shipped migrations with one more behind them."""
    folder = tmp_path / "migrations"
    shutil.copytree(migrations_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / "0002_second.py").write_text(SECOND)
    return folder


@pytest.fixture
async def filled(database: Path) -> Path:
    """A database of revision 0001 with a bit of everything."""
    store = Store.open(database, program_version=VERSION)
    held = await talk(store, "one", "two")
    turn = await held.begin(opening("three", held.info.head))
    await reply_half(held, turn)
    await store.close()
    return database


def test_a_fresh_database_is_what_the_models_say(database: Path) -> None:
    build(str(database))

    with open_engine(database).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    assert pragma(database, "user_version") == 1
    assert pragma(database, "application_id") == 0x4C6F4167
    assert pragma(database, "journal_mode") == "wal"
    (row,) = content(database)["schema_migrations"]
    assert row[1:3] == ("0001_conversations.py", shipped(migrations_folder())[0].digest)
    assert row[4] == VERSION


def test_a_fresh_database_holds_no_row_and_is_alone(database: Path) -> None:
    build(str(database))

    tables = content(database)
    kept = {"", "schema_migrations", "alembic_version"}
    assert {name for name, rows in tables.items() if rows} == kept
    (database.parent / "local-agent.db-wal").unlink(missing_ok=True)
    (database.parent / "local-agent.db-shm").unlink(missing_ok=True)
    assert [each.name for each in database.parent.iterdir()] == ["local-agent.db"]


@pytest.mark.parametrize("what", ["zero bytes", "no tables"])
def test_a_file_with_nothing_in_it_is_built(database: Path, what: str) -> None:
    database.parent.mkdir()
    database.touch()
    if what == "no tables":
        with closing(sqlite3.connect(database)) as db:
            db.execute("CREATE TABLE gone (a)")
            db.execute("DROP TABLE gone")

    build(str(database))
    assert pragma(database, "user_version") == 1


def test_when_nothing_is_pending_a_start_reads_one_table_and_no_alembic(database: Path) -> None:
    build(str(database))
    program = (
        "import sqlite3, sys\n"
        "from pathlib import Path\n"
        "from sqlalchemy import event\n"
        "from sqlalchemy.engine import Engine\n"
        "import local_agent.store.engine as engine\n"
        "seen = []\n"
        "event.listen(Engine, 'connect', lambda c, r: c.set_trace_callback(seen.append))\n"
        "from local_agent.store.store import Store\n"
        f"Store.open(Path({str(database)!r}), program_version='0.1.0')\n"
        "assert 'alembic' not in sys.modules\n"
        "tables = [sql for sql in seen if ' FROM ' in sql or 'INSERT' in sql or 'BEGIN' in sql]\n"
        "assert len(tables) == 1 and 'schema_migrations' in tables[0], tables\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True, timeout=60)


def test_an_update_keeps_every_row_and_a_copy_of_before(filled: Path, two_steps: Path) -> None:
    before = content(filled)

    upgrade(str(filled), str(two_steps))

    after = content(filled)
    for name in before.keys() - {"", "sessions", "schema_migrations", "alembic_version"}:
        assert after[name] == before[name], name
    assert [row[:-1] for row in after["sessions"]] == before["sessions"]
    assert [row[0] for row in after["schema_migrations"]] == ["0001", "0002"]
    assert after["alembic_version"] == [("0002",)]
    assert pragma(filled, "user_version") == 2
    triggers = {row[1] for row in before[""] if row[0] == "trigger"}
    assert triggers == {row[1] for row in after[""] if row[0] == "trigger"}
    (backup,) = (filled.parent / "backups").iterdir()
    assert backup.name.endswith("-before-0002.db")
    assert content(backup) == before


def test_an_update_is_done_once(filled: Path, two_steps: Path) -> None:
    upgrade(str(filled), str(two_steps))
    after = content(filled)
    upgrade(str(filled), str(two_steps))

    assert content(filled) == after
    assert len(list((filled.parent / "backups").iterdir())) == 1


def test_without_a_copy_nothing_is_updated(filled: Path, two_steps: Path) -> None:
    before = content(filled)
    (filled.parent / "backups").write_text("a file in the way")

    with pytest.raises(StoreError, match="no copy of it"):
        upgrade(str(filled), str(two_steps))
    assert content(filled) == before


def at_once(function: str, *arguments: str, count: int) -> None:
    """Start several processes together, and have all of them come to a good end."""
    program = f"from tests.store.test_migrations import {function}; import sys; {function}(*sys.argv[1:])"
    command = [sys.executable, "-c", program, *arguments]
    children = [subprocess.Popen(command, cwd=PROJECT, stderr=subprocess.PIPE) for _ in range(count)]
    for child in children:
        _, errors = child.communicate(timeout=120)
        assert child.returncode == 0, errors.decode()


def test_processes_that_build_at_once_all_succeed(database: Path) -> None:
    at_once("build", str(database), count=4)

    assert len(content(database)["schema_migrations"]) == 1
    assert pragma(database, "integrity_check") == "ok"


def test_processes_that_update_at_once_all_succeed(filled: Path, two_steps: Path) -> None:
    at_once("upgrade", str(filled), str(two_steps), count=3)

    assert [row[0] for row in content(filled)["schema_migrations"]] == ["0001", "0002"]
    assert [each.suffix for each in (filled.parent / "backups").iterdir()] == [".db"]


@pytest.mark.parametrize("statement", [1, 2, 3, 5, 7, 9])
def test_an_update_killed_at_a_statement_is_done_by_the_next_start(
    filled: Path, two_steps: Path, statement: int
) -> None:
    before = content(filled)
    crash_at(f"migrate:statement:{statement}", upgrade, str(filled), str(two_steps))
    assert content(filled) == before

    upgrade(str(filled), str(two_steps))
    after = content(filled)
    assert after["entries"] == before["entries"]
    assert after["alembic_version"] == [("0002",)]


@pytest.mark.parametrize("point", ["migrate:statement:1", "migrate:statement:20", "migrate:before-commit"])
def test_a_first_start_killed_half_way_is_done_by_the_next(database: Path, point: str) -> None:
    crash_at(point, build, str(database))
    build(str(database))

    assert pragma(database, "user_version") == 1
    assert not (database.parent / "backups").exists()


def test_an_update_that_fails_leaves_everything_as_it_was(filled: Path, two_steps: Path) -> None:
    before = content(filled)
    step = two_steps / "versions" / "0002_second.py"
    step.write_text(SECOND + '    op.execute("DELETE FROM workspaces")\n')

    with pytest.raises(StoreError, match="point at nothing"):
        upgrade(str(filled), str(two_steps))
    assert content(filled) == before


def test_a_landed_revision_never_changes() -> None:
    listed = {name: digest for digest, name in map(str.split, LANDED.read_text().splitlines())}
    folder = migrations_folder() / "versions"

    assert list(listed) == sorted(file.name for file in folder.glob("*.py"))
    for name, digest in listed.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest, name


def test_lines_are_only_added_to_the_list_of_landed_revisions() -> None:
    name = LANDED.relative_to(PROJECT).as_posix()
    git = ["git", "-C", str(PROJECT)]
    commits = subprocess.run([*git, "log", "--format=%H", "--", name], capture_output=True, text=True)
    now = LANDED.read_text()
    for commit in commits.stdout.split():
        then = subprocess.run([*git, "show", f"{commit}:{name}"], capture_output=True, text=True, check=True)
        assert now.startswith(then.stdout), commit
