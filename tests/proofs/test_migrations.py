"""A database reaches the newest revision with every row, whoever starts at once and whatever dies."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.store.migrate import schema_of
from local_agent.store.revisions import migrations_folder, shipped
from tests.proofs.filled import IN_MID_REPLY, Rows, fill, read_rows, recorded_rows, write_rows
from tests.proofs.revisions import NEXT_VERSION, bring_up, first, one_more
from tests.support.crash import ROOT, crash_at, dies_at

Proven = Callable[[str], None]

AT_ONCE = 8
ROUNDS = 25
# Loaded once, then forked before anything is open: they come out of the gate together.
_AT_ONCE = """
import os, sys, traceback
from tests.proofs.revisions import bring_up
count, database, folder = sys.argv[1:]
gate, opens = os.pipe()
children = []
for _ in range(int(count)):
    child = os.fork()
    if child == 0:
        os.close(opens)
        os.read(gate, 1)
        try:
            bring_up(database, folder)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    children.append(child)
os.close(opens)
sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))
"""
# What a migration changes by itself, besides the columns that it adds.
_OWN = {"alembic_version", "schema_migrations", "steps"}


@pytest.fixture(scope="session")
def ahead(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The migrations of the next version."""
    return one_more(tmp_path_factory.mktemp("ahead") / "migrations")


@pytest.fixture(scope="session")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("filled")
    crash_at(IN_MID_REPLY, fill, str(folder / "local-agent.db"))
    return folder


@pytest.fixture
def database(tmp_path: Path, filled_once: Path) -> Path:
    """What the program left when it died in mid-reply: a filled file and its log, one revision behind."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    for part in filled_once.glob("local-agent.db*"):
        shutil.copy(part, home)
    return home / "local-agent.db"


def state(path: Path) -> tuple[int, list[str], str]:
    """User version, recorded revisions, and SQLite's own judgement."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        recorded = [row[0] for row in db.execute("SELECT revision FROM schema_migrations ORDER BY 1")]
        (integrity,) = db.execute("PRAGMA integrity_check").fetchone()
        return version, recorded, integrity


def schema(path: Path) -> set[tuple[str, str, str, str | None]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        return schema_of(db)


def require_kept(before: Rows, after: Rows) -> int:
    """Every row of every table is there with every value that it had; how many there are."""
    for table in before.keys() - _OWN:
        kept = [
            {name: row[name] for name in old} for old, row in zip(before[table], after[table], strict=True)
        ]
        assert kept == before[table], table
    return sum(len(rows) for rows in before.values())


def require_newest(path: Path, before: Rows, folder: Path) -> int:
    """The database is whole, at the newest revision, with every row of ``before``."""
    revisions = [each.revision for each in shipped(folder)]
    assert state(path) == (int(revisions[-1]), revisions, "ok")
    after = read_rows(path)
    assert len(after["steps"]) == 1, "done more than once"
    return require_kept(before, after)


def copies(path: Path) -> list[Path]:
    return sorted((path.parent / "backups").iterdir())


def start_at_once(path: Path, folder: Path) -> None:
    """Eight programs, let go together; every one has to succeed."""
    command = [sys.executable, "-c", _AT_ONCE, str(AT_ONCE), str(path), str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, f"{done.returncode} of {AT_ONCE} failed\n{done.stderr}"


def prove_starts_at_once(path: Path, folder: Path) -> int:
    before = read_rows(path)
    start_at_once(path, folder)
    (copy,) = copies(path)
    assert copy.name.endswith(f"-before-{shipped(folder)[-1].revision}.db")
    assert read_rows(copy) == before
    return require_newest(path, before, folder)


def test_eight_processes_that_start_at_once_make_one_copy_and_one_update(
    database: Path, ahead: Path, proven: Proven
) -> None:
    rows = prove_starts_at_once(database, ahead)
    proven(f"{AT_ONCE} starts at once on an old database: 1 copy, 1 update, {rows} of {rows} rows kept")


def test_eight_processes_that_start_at_once_build_one_database(tmp_path: Path, proven: Proven) -> None:
    folder = migrations_folder()
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    start_at_once(home / "local-agent.db", folder)

    newest = [each.revision for each in shipped(folder)]
    assert state(home / "local-agent.db") == (int(newest[-1]), newest, "ok")
    assert not (home / "backups").exists()
    proven(f"{AT_ONCE} starts at once without a database: 1 was built")


@pytest.mark.slow
def test_eight_processes_at_once_again_and_again(
    tmp_path: Path, filled_once: Path, ahead: Path, proven: Proven
) -> None:
    rows = 0
    for number in range(ROUNDS):
        home = tmp_path / str(number)
        shutil.copytree(filled_once, home)
        rows += prove_starts_at_once(home / "local-agent.db", ahead)
    proven(
        f"{ROUNDS} x {AT_ONCE} starts at once on an old database: one copy, one update each, {rows} rows kept"
    )


POINTS = ("copy:page:1", "copy:before-rename:1", "copy:after-rename:1")
ENDS = ("migrate:before-commit:1", "migrate:after-commit:1")


def kill_and_start_again(point: str, path: Path, folder: Path, before: Rows) -> bool:
    """Kill an update at ``point``: it leaves the old state or the new one, and the next start ends it."""
    if not dies_at(point, bring_up, str(path), str(folder)):
        return False
    revisions = [each.revision for each in shipped(folder)]
    done = point == "migrate:after-commit:1"
    left = revisions if done else revisions[:-1]
    assert state(path) == (int(left[-1]), left, "ok")
    if not done:
        assert read_rows(path) == before
        assert schema(path) == built(path.parent / "before", len(left), folder)
    bring_up(str(path), str(folder))
    require_newest(path, before, folder)
    whole = [copy for copy in copies(path) if copy.suffix == ".db"]
    assert whole
    assert all(read_rows(copy) == before for copy in whole)
    return True


def built(place: Path, count: int, folder: Path) -> set[tuple[str, str, str, str | None]]:
    """The schema that the first ``count`` migrations build."""
    database = place / "fresh.db"
    if not database.exists():
        place.mkdir()
        bring_up(str(database), str(first(count, folder, place / "migrations")))
    return schema(database)


@pytest.mark.parametrize("point", ["copy:before-rename:1", "migrate:statement:9"])
def test_an_update_that_is_killed_is_finished_by_the_next_start(
    database: Path, ahead: Path, point: str
) -> None:
    assert kill_and_start_again(point, database, ahead, read_rows(database))


@pytest.mark.slow
def test_an_update_killed_after_any_statement_is_finished_by_the_next_start(
    tmp_path: Path, filled_once: Path, ahead: Path, proven: Proven
) -> None:
    kills = 0
    for point in (*POINTS, *ENDS):
        assert killed_in(tmp_path / f"point {kills}", filled_once, point, ahead), point
        kills += 1
    statements = 0
    while killed_in(tmp_path / str(statements), filled_once, f"migrate:statement:{statements + 1}", ahead):
        statements += 1
    assert statements >= 10
    proven(
        f"{kills + statements} kills of an update (each of {statements} statements, {kills} other points): "
        "all finished by the next start, no row lost"
    )


def killed_in(home: Path, filled: Path, point: str, folder: Path) -> bool:
    shutil.copytree(filled, home)
    path = home / "local-agent.db"
    return kill_and_start_again(point, path, folder, read_rows(path))


def build_and_start_again(
    point: str, home: Path, folder: Path, fresh: set[tuple[str, str, str, str | None]]
) -> bool:
    """Kill the creation of a database at ``point``; the next start builds it."""
    home.mkdir(mode=0o700)
    path = home / "local-agent.db"
    if not dies_at(point, bring_up, str(path), str(folder)):
        return False
    bring_up(str(path), str(folder))
    newest = [each.revision for each in shipped(folder)]
    assert state(path) == (int(newest[-1]), newest, "ok")
    assert schema(path) == fresh
    assert not (home / "backups").exists()
    return True


def test_a_creation_that_is_killed_is_done_by_the_next_start(tmp_path: Path) -> None:
    folder = migrations_folder()
    fresh = built(tmp_path / "fresh", len(shipped(folder)), folder)
    assert build_and_start_again("migrate:statement:20", tmp_path / "home", folder, fresh)


@pytest.mark.slow
def test_a_creation_killed_after_any_statement_is_done_by_the_next_start(
    tmp_path: Path, proven: Proven
) -> None:
    folder = migrations_folder()
    fresh = built(tmp_path / "fresh", len(shipped(folder)), folder)
    statements = 0
    while build_and_start_again(
        f"migrate:statement:{statements + 1}", tmp_path / str(statements), folder, fresh
    ):
        statements += 1
    assert statements >= 20
    proven(f"{statements} kills of a creation, one at each statement: all built by the next start")


def earlier() -> list[int]:
    """How many migrations each revision that was shipped before the next version has."""
    return list(range(1, len(shipped(migrations_folder())) + 1))


@pytest.mark.parametrize("count", earlier())
def test_a_filled_database_of_every_earlier_revision_becomes_a_fresh_one_with_its_rows(
    tmp_path: Path, ahead: Path, count: int, proven: Proven
) -> None:
    revision = shipped(ahead)[count - 1].revision
    path = tmp_path / "local-agent.db"
    bring_up(str(path), str(first(count, ahead, tmp_path / "then")))
    write_rows(path, recorded_rows(revision))
    before = read_rows(path)
    newest = len(shipped(ahead))

    bring_up(str(path), str(ahead))

    assert schema(path) == built(tmp_path / "fresh", newest, ahead)
    rows = require_newest(path, before, ahead)
    with closing(sqlite3.connect(path)) as db:
        by = dict(db.execute("SELECT revision, program_version FROM schema_migrations"))
        indexed = {term for (term,) in db.execute("SELECT term FROM entry_term_counts")}
    assert {"plant", "trunk"} <= indexed, "what was said before the update is found after it"
    assert by[shipped(ahead)[-1].revision] == NEXT_VERSION
    proven(
        f"filled database of revision {revision} updated: schema as built fresh, {rows} of {rows} rows kept"
    )


def test_the_recorded_rows_fill_every_table() -> None:
    """``python -m tests.proofs.filled`` writes them; a revision is recorded before the next one lands."""
    for revision in shipped(migrations_folder()):
        assert all(recorded_rows(revision.revision).values())
