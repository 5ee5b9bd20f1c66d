"""A first start builds the database as the models describe it; what was released never changes.

Updates, kills and starts at once: ``tests/proofs/test_migrations.py``.
"""

from __future__ import annotations

import hashlib
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from local_agent.store.engine import open_engine
from local_agent.store.models import Base
from local_agent.store.revisions import migrations_folder, newest_schema, shipped
from local_agent.store.store import Store
from tests.store.samples import VERSION

PROJECT = Path(__file__).parents[2]
LANDED = Path(__file__).with_name("landed_revisions.txt")


def build(database: str) -> None:
    """Child: what a start does."""
    Store.open(Path(database), program_version=VERSION)


def is_modelled(name: str | None, *_: object) -> bool:
    """The word index is SQLite's own affair."""
    return not str(name).startswith("entry_term")


def content(database: Path) -> dict[str, list[Any]]:
    """Every row of every table, and the schema itself."""
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        schema = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()
        # What a virtual table holds lies in tables beside it.
        tables = [name for kind, name, _, sql in schema if kind == "table" and "VIRTUAL" not in sql]
        return {"": schema, **{name: db.execute(f"SELECT * FROM {name}").fetchall() for name in tables}}


def pragma(database: Path, name: str) -> object:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        return db.execute(f"PRAGMA {name}").fetchone()[0]


def test_a_fresh_database_is_what_the_models_say(database: Path) -> None:
    build(str(database))

    with open_engine(database).connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_name": is_modelled})
        assert compare_metadata(context, Base.metadata) == []
    assert pragma(database, "user_version") == newest_schema()
    assert pragma(database, "application_id") == 0x4C6F4167
    assert pragma(database, "journal_mode") == "wal"
    row, *_ = content(database)["schema_migrations"]
    assert row[1:3] == ("0001_conversations.py", shipped(migrations_folder())[0].digest)
    assert row[4] == VERSION


def test_a_fresh_database_holds_no_row_and_is_alone(database: Path) -> None:
    build(str(database))

    tables = content(database)
    kept = {"", "schema_migrations", "alembic_version", "entry_terms_config", "entry_terms_data"}
    assert {name for name, rows in tables.items() if rows} == kept
    assert len(tables["entry_terms_data"]) == 2, "an index of nothing"
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
    assert pragma(database, "user_version") == newest_schema()


def test_when_nothing_is_pending_a_start_reads_one_table_and_no_alembic(database: Path) -> None:
    build(str(database))
    program = (
        "import sqlite3, sys\n"
        "from pathlib import Path\n"
        "seen, connect = [], sqlite3.connect\n"
        "class Traced(sqlite3.Connection):\n"
        "    def __init__(self, *arguments, **options):\n"
        "        super().__init__(*arguments, **options)\n"
        "        self.set_trace_callback(seen.append)\n"
        "sqlite3.connect = lambda *arguments, **options: connect(*arguments, factory=Traced, **options)\n"
        "from local_agent.store.store import Store\n"
        f"Store.open(Path({str(database)!r}), program_version='0.1.0')\n"
        "assert 'alembic' not in sys.modules\n"
        "known = [sql for sql in seen if 'sqlite_master' not in sql]\n"
        "tables = [sql for sql in known if ' FROM ' in sql or 'INSERT' in sql or 'BEGIN' in sql]\n"
        "assert len(tables) == 1 and 'schema_migrations' in tables[0], tables\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True, timeout=60)


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
