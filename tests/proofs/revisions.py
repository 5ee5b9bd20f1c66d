"""Migrations as they will be: the shipped ones with one more behind them, and the first few of them."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from local_agent.store.revisions import migrations_folder, shipped
from local_agent.store.store import Store

NEXT_VERSION = "0.2.0"
# All that a revision may do: a column, an index, a table with a trigger, a rebuilt table that others point
# at, and a row that shows how often it was done.
_NEXT = '''"""One more step."""

from alembic import op

revision = "{revision}"
down_revision = "{before}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("ALTER TABLE sessions ADD COLUMN colour TEXT NOT NULL DEFAULT 'none'")
    op.execute("CREATE INDEX sessions_by_colour ON sessions (colour, id)")
    op.execute("CREATE TABLE steps (id INTEGER NOT NULL PRIMARY KEY, first INTEGER REFERENCES sessions (id))")
    op.execute("CREATE TRIGGER steps_never_go BEFORE DELETE ON steps BEGIN SELECT RAISE(ABORT, 'never'); END")
    op.execute("INSERT INTO steps (first) VALUES (NULL)")
    op.execute(
        "CREATE TABLE new_workspaces (id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, root TEXT NOT NULL,"
        " git_root_commit TEXT, created_at TEXT NOT NULL, label TEXT NOT NULL DEFAULT '',"
        " CONSTRAINT workspaces_root UNIQUE (root))"
    )
    op.execute(
        "INSERT INTO new_workspaces (id, root, git_root_commit, created_at)"
        " SELECT id, root, git_root_commit, created_at FROM workspaces"
    )
    op.execute("DROP TABLE workspaces")
    op.execute("ALTER TABLE new_workspaces RENAME TO workspaces")
    op.execute("CREATE INDEX workspaces_by_commit ON workspaces (git_root_commit)")
'''


def one_more(folder: Path) -> Path:
    """The shipped migrations and a next one, in a new ``folder``."""
    _copy_shipped(folder)
    before = shipped(folder)[-1].revision
    revision = f"{int(before) + 1:04}"
    step = folder / "versions" / f"{revision}_next.py"
    step.write_text(_NEXT.format(revision=revision, before=before))
    return folder


def first(count: int, source: Path, folder: Path) -> Path:
    """The oldest ``count`` of the migrations in ``source``, in a new ``folder``."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for each in shipped(folder)[count:]:
        (folder / "versions" / each.file_name).unlink()
    return folder


def bring_up(database: str, folder: str) -> None:
    """Start the store of a program with the migrations of ``folder``; child, too."""
    store = Store.open(Path(database), program_version=NEXT_VERSION, migrations=Path(folder))
    asyncio.run(store.close())


def _copy_shipped(folder: Path) -> None:
    shutil.copytree(migrations_folder(), folder, ignore=shutil.ignore_patterns("__pycache__"))
