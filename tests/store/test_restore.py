"""Going back to a copy: all or nothing, never without a copy of what was there, nor while it is open."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.errors import Outdated, StoreError, UsageError
from local_agent.store.check import check
from local_agent.store.copies import back_up
from local_agent.store.restore import candidate, restore
from local_agent.store.store import Store
from tests.proofs.filled import Rows, read_rows
from tests.proofs.revisions import bring_up, first, one_more
from tests.store.other_process import OtherProcess
from tests.store.samples import VERSION, fill, talk
from tests.store.test_migrations import build
from tests.support.crash import ROOT, crash_at


def put_back(database: str, file: str) -> None:
    """Child, too: the command, without its question."""
    path = Path(database)
    with candidate(Path(file), path, path.parent / "backups") as chosen:
        restore(chosen, path, path.parent / "backups")


def kept(database: Path) -> list[Path]:
    """The copies of what was there before."""
    return sorted((database.parent / "backups").glob("*-before-restore*.db"))


def beside(database: Path) -> list[str]:
    return [each.name for each in sorted(database.parent.glob("*local-agent.db*"))]


@pytest.fixture
async def copy(built: Path, tmp_path: Path) -> Path:
    """A copy from before the last conversation."""
    store = Store.open(built, program_version=VERSION)
    held = await talk(store, "old")
    await store.close()
    fill(built, held.info.id, 2_000)  # more than one step of copying
    made = back_up(built, tmp_path / "a copy.db", built.parent / "backups")
    store = Store.open(built, program_version=VERSION)
    held = await talk(store, "new", "newer")
    await store.close()
    fill(built, held.info.id, 2_000)
    return made


def damage_page(database: Path) -> None:
    """A page of texts in the middle."""
    with database.open("r+b") as file:
        file.seek(database.stat().st_size // 2 // 4096 * 4096)
        file.write(b"\xa5" * 4096)


def damage_header(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"\xa5" * 4096)


def cut_short(database: Path) -> None:
    os.truncate(database, 4096)


def no_database(database: Path) -> None:
    database.write_text("a letter\n" * 1000)


def test_the_copy_is_there_afterwards_and_what_was_there_is_kept(built: Path, copy: Path) -> None:
    before = read_rows(built)
    put_back(str(built), str(copy))

    assert read_rows(built) == read_rows(copy)
    (old,) = kept(built)
    assert read_rows(old) == before
    assert old.stat().st_mode & 0o777 == built.stat().st_mode & 0o777 == 0o600
    assert not check(built, built.parent / "backups").problems


def test_a_copy_that_was_kept_leads_back_again(built: Path, copy: Path) -> None:
    before = read_rows(built)
    put_back(str(built), str(copy))
    put_back(str(built), str(kept(built)[0]))

    assert read_rows(built) == before
    assert len(kept(built)) == 2


@pytest.mark.parametrize("what", ["missing", "empty", "no home"])
def test_where_nothing_is_nothing_is_kept(copy: Path, tmp_path: Path, what: str) -> None:
    home = tmp_path / "another home"
    if what != "no home":
        home.mkdir()
    database = home / "local-agent.db"
    if what == "empty":
        database.touch()
    put_back(str(database), str(copy))

    assert read_rows(database) == read_rows(copy)
    assert kept(database) == []
    assert database.stat().st_mode & 0o777 == 0o600
    assert home.stat().st_mode & 0o077 == (0 if what == "no home" else 0o077)


@pytest.mark.parametrize("harm", [damage_page, damage_header, cut_short, no_database])
def test_a_damaged_database_is_kept_to_the_byte(
    built: Path, copy: Path, harm: Callable[[Path], None]
) -> None:
    with closing(sqlite3.connect(built)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    harm(built)
    before = built.read_bytes()
    put_back(str(built), str(copy))

    assert read_rows(built) == read_rows(copy)
    (old,) = kept(built)
    # A copy through SQLite says in its header that it needs no log, and counts changes.
    same = [number for number, byte in enumerate(old.read_bytes()) if byte != before[number]]
    assert set(same) <= {18, 19, *range(24, 28), *range(40, 44), *range(92, 100)}
    assert len(old.read_bytes()) == len(before)


def test_a_log_that_nobody_can_read_is_kept_and_never_applied(built: Path, copy: Path) -> None:
    """A process died before what it wrote was brought from the log into the file; then the file was hurt."""
    with closing(sqlite3.connect(built)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    crash_at("session.create:after-commit", converse, str(built))
    log = built.with_name(f"{built.name}-wal")
    damage_header(built)
    # Nor does the log bring the first page back.
    os.truncate(log, log.stat().st_size // 2)
    with log.open("r+b") as file:
        file.write(bytes(32))
    before = {end: built.with_name(built.name + end).read_bytes() for end in ("", "-wal")}
    put_back(str(built), str(copy))

    assert read_rows(built) == read_rows(copy)
    (old,) = kept(built)
    assert {end: old.with_name(old.name + end).read_bytes() for end in before} == before


def test_a_log_whose_database_is_gone_is_kept(built: Path, copy: Path) -> None:
    crash_at("session.create:after-commit", converse, str(built))
    log = built.with_name(f"{built.name}-wal")
    before = log.read_bytes()
    built.unlink()
    put_back(str(built), str(copy))

    assert read_rows(built) == read_rows(copy)
    (old,) = kept(built)
    assert old.with_name(f"{old.name}-wal").read_bytes() == before


def converse(database: str) -> None:
    """Child."""

    async def create() -> None:
        await talk(Store.open(Path(database), program_version=VERSION), "in the log")

    asyncio.run(create())


def newer(file: Path) -> None:
    bring_up(str(file), str(one_more(file.parent / "migrations")))


def foreign(file: Path) -> None:
    file.unlink()
    with closing(sqlite3.connect(file)) as db:
        db.execute("CREATE TABLE songs (id INTEGER)")


def lost_row(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("DELETE FROM workspaces")
        db.commit()


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (damage_page, "is damaged: "),
        (damage_header, "is no SQLite database"),
        (cut_short, "is damaged"),
        (no_database, "is no SQLite database"),
        (lambda file: os.truncate(file, 0), "holds nothing"),
        (newer, "was written by a newer local-agent, 0.2.0 (it has 0006_next.py)"),
        (foreign, "belongs to another program"),
    ],
)
def test_a_copy_that_is_no_use_changes_nothing(
    built: Path, copy: Path, change: Callable[[Path], None], line: str
) -> None:
    before = read_rows(built)
    change(copy)
    with pytest.raises(StoreError) as refusal:
        put_back(str(built), str(copy))

    assert f"{copy} {line}" in refusal.value.line
    assert refusal.value.hint.startswith("Nothing was changed.")
    assert read_rows(built) == before
    assert kept(built) == []


def test_a_copy_that_is_not_there_or_is_the_database_is_refused(built: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(built)
    for file, line in ((tmp_path / "no.db", "There is no file"), (built, "itself"), (link, "itself")):
        with pytest.raises(UsageError, match=line):
            put_back(str(built), str(file))


def test_another_programs_database_is_never_replaced(built: Path, copy: Path) -> None:
    foreign(built)
    before = built.read_bytes()
    with pytest.raises(StoreError, match="belongs to another program"):
        put_back(str(built), str(copy))
    assert built.read_bytes() == before


def test_an_older_copy_is_brought_up_to_date_by_the_next_start(
    built: Path, copy: Path, tmp_path: Path
) -> None:
    """Put in place by the program that is one revision ahead."""
    old = read_rows(copy)
    ahead = one_more(tmp_path / "migrations")
    put_back(str(built), str(copy))
    bring_up(str(built), str(ahead))

    assert [row["text"] for row in read_rows(built)["entries"]] == [row["text"] for row in old["entries"]]
    assert first(1, ahead, tmp_path / "first")
    assert len(list((built.parent / "backups").glob("*-before-0006.db"))) == 1


def test_a_database_that_is_open_elsewhere_is_not_replaced(built: Path, copy: Path) -> None:
    before = read_rows(built)
    with OtherProcess(built) as other:
        handle = other.tell("create", "Are you there?")["handle"]
        with pytest.raises(StoreError) as refusal:
            put_back(str(built), str(copy))
        assert f"process {other.process.pid}" in refusal.value.line
        assert refusal.value.line.endswith(f"with session {handle}.")
        assert refusal.value.hint == "Close it there, then try again."
        assert kept(built) == []
        other.tell("settle", "Yes.")
        other.die()
    after = read_rows(built)
    assert len(after["entries"]) == len(before["entries"]) + 2
    put_back(str(built), str(copy))
    assert read_rows(kept(built)[0]) == after


def test_a_connection_without_a_session_is_enough_to_be_left_alone(built: Path, copy: Path) -> None:
    reader = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "db.execute('SELECT count(*) FROM sessions').fetchall()\n"
        "print('open', flush=True)\n"
        "sys.stdin.read()\n"
    )
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", reader, str(built)], stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(StoreError, match="The database is open in another process"):
            put_back(str(built), str(copy))
        other.kill()


async def test_a_process_that_waits_goes_on_in_the_restored_database(built: Path, copy: Path) -> None:
    """It had its database open before and looked at nothing yet; what it writes must not be lost."""
    store = Store.open(built, program_version=VERSION)
    await asyncio.to_thread(put_back, str(built), str(copy))
    await talk(store, "after")
    await store.close()

    texts = [row["text"] for row in read_rows(built)["entries"]]
    assert texts[-2:] == ["after", "On after"]
    assert texts[:-2] == [row["text"] for row in read_rows(copy)["entries"]]


def test_a_connection_that_waits_goes_on_in_the_restored_database(built: Path, copy: Path) -> None:
    """It has the file open and no lock on it yet, as one that waits for the restore to end."""
    with closing(sqlite3.connect(built, isolation_level=None)) as waiting:
        put_back(str(built), str(copy))
        waiting.execute("UPDATE workspaces SET git_root_commit = 'written after'")
    assert {row["git_root_commit"] for row in read_rows(built)["workspaces"]} == {"written after"}


async def test_a_process_that_is_ahead_of_the_copy_writes_no_more(
    built: Path, copy: Path, tmp_path: Path
) -> None:
    ahead = one_more(tmp_path / "migrations")
    store = Store.open(built, program_version="0.2.0", migrations=ahead)
    await asyncio.to_thread(put_back, str(built), str(copy))
    with pytest.raises(Outdated) as refusal:
        await talk(store, "after")
    assert refusal.value.line == "The database was replaced by an older copy; this one writes no more."
    await store.close()
    assert read_rows(built) == read_rows(copy)


def require_old_or_new(database: Path, copy: Path, before: Rows) -> bool:
    """The next start has nothing to complain about; whether it finds the copy."""
    build(str(database))
    assert not check(database, database.parent / "backups").problems
    found, new = read_rows(database), read_rows(copy)
    assert found in (before, new)
    return found == new


@pytest.mark.parametrize("point", ["copy:before-rename", "restore:page:2", "restore:written"])
def test_a_restore_that_is_killed_leaves_the_old_or_the_new(built: Path, copy: Path, point: str) -> None:
    before = read_rows(built)
    crash_at(point, put_back, str(built), str(copy))

    assert require_old_or_new(built, copy, before) == (point == "restore:written")
    assert [read_rows(old) for old in kept(built)] == ([] if point.startswith("copy") else [before])


@pytest.mark.parametrize("point", ["restore:page:2", "restore:written"])
def test_a_first_restore_that_is_killed_leaves_nothing_or_the_copy(
    copy: Path, tmp_path: Path, point: str
) -> None:
    database = tmp_path / "another home" / "local-agent.db"
    crash_at(point, put_back, str(database), str(copy))
    build(str(database))

    assert bool(read_rows(database)["sessions"]) == (point == "restore:written")


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("restore:copied", marks=pytest.mark.slow),
        pytest.param("copy:page", marks=pytest.mark.slow),
        "restore:log-removed",
        pytest.param("restore:in-place", marks=pytest.mark.slow),
    ],
)
def test_a_restore_over_no_database_that_is_killed_leaves_the_old_or_the_new(
    built: Path, copy: Path, point: str
) -> None:
    damage_header(built)
    before = built.read_bytes()
    crash_at(point, put_back, str(built), str(copy))

    (old,) = kept(built)
    assert old.read_bytes() == before
    if point != "restore:in-place":
        assert built.read_bytes() == before
        put_back(str(built), str(copy))
    build(str(built))
    assert read_rows(built) == read_rows(copy)


def test_two_restores_at_once_end_with_one_whole_copy(built: Path, copy: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.db"
    shutil.copy(copy, other)
    with closing(sqlite3.connect(other)) as db:
        db.execute("UPDATE sessions SET title = 'the other copy'")
        db.commit()
    before = read_rows(built)
    program = f"from {__name__} import put_back; import sys; put_back(*sys.argv[1:])"
    restores = [
        subprocess.Popen(
            [sys.executable, "-c", program, str(built), str(file)], cwd=ROOT, stderr=subprocess.PIPE
        )
        for file in (copy, other)
    ]
    errors = [each.communicate(timeout=60)[1].decode() for each in restores]

    done = [file for file, each in zip((copy, other), restores, strict=True) if each.returncode == 0]
    assert done, errors
    assert all("open in another process" in error for error in errors if error)
    assert read_rows(built) in [read_rows(file) for file in done]
    assert len(kept(built)) == len(done)
    assert before in [read_rows(old) for old in kept(built)]
    assert not check(built, built.parent / "backups").problems
