"""A copy of the database is of one moment, private, and whole under its name or not there."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.errors import StoreError, UsageError
from local_agent.store.copies import ABANDONED_SECONDS, NO_COPY, back_up, newest_copy, way_back
from local_agent.store.revisions import newest_schema
from local_agent.store.store import Store
from tests.proofs.filled import read_rows
from tests.store.samples import VERSION, talk
from tests.support.crash import ROOT, crash_at

ROUNDS = 5


def backups(database: Path) -> Path:
    return database.parent / "backups"


def make_copy(database: str, target: str) -> None:
    """Child: the command."""
    back_up(Path(database), Path(target) if target else None, backups(Path(database)))


def write_on(database: str) -> None:
    """Child: whole conversations until it is killed."""

    async def converse() -> None:
        store = Store.open(Path(database), program_version=VERSION)
        while True:
            await talk(store, "one", "two", "three")
            sys.stdout.write("written\n")
            sys.stdout.flush()

    asyncio.run(converse())


@pytest.fixture
async def spoken(built: Path) -> Path:
    store = Store.open(built, program_version=VERSION)
    await talk(store, "one", "two")
    await store.close()
    return built


def test_a_copy_holds_everything_in_one_private_file(spoken: Path) -> None:
    made = back_up(spoken, None, backups(spoken))

    assert read_rows(made) == read_rows(spoken)
    assert [each.name for each in backups(spoken).iterdir()] == [made.name]
    assert made.stat().st_mode & 0o777 == 0o600
    assert made.parent.stat().st_mode & 0o777 == 0o700
    assert newest_copy(backups(spoken)) == made


def test_copies_of_the_same_second_have_names_of_their_own(spoken: Path) -> None:
    made = {back_up(spoken, None, backups(spoken)) for _ in range(4)}
    assert len(made) == 4
    assert set(backups(spoken).iterdir()) == made


async def test_a_copy_includes_what_an_open_process_has_only_logged(spoken: Path) -> None:
    store = Store.open(spoken, program_version=VERSION)
    await talk(store, "logged")
    made = back_up(spoken, None, backups(spoken))

    assert [row["text"] for row in read_rows(made)["entries"]][-2] == "logged"
    await store.close()


def test_a_copy_is_of_one_moment_while_another_process_writes(spoken: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-c", f"from {__name__} import write_on; write_on({str(spoken)!r})"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        sizes = []
        for number in range(ROUNDS):
            assert writer.stdout.readline() == b"written\n"
            made = back_up(spoken, tmp_path / f"{number}.db", backups(spoken))
            with closing(sqlite3.connect(made)) as db:
                assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
                assert db.execute("PRAGMA foreign_key_check").fetchall() == []
            rows = read_rows(made)
            # A transaction writes an entry and the head on it together.
            heads = {row["id"]: row["head"] for row in rows["sessions"]}
            assert heads == {row["session_id"]: row["to_entry"] for row in rows["head_moves"]}
            sizes.append(len(rows["entries"]))
        writer.kill()
    assert sizes == sorted(set(sizes)), "nothing was written meanwhile"


@pytest.mark.parametrize("what", ["file", "link", "dangling link", "folder", "database"])
def test_a_copy_replaces_nothing(spoken: Path, tmp_path: Path, what: str) -> None:
    target = tmp_path / "copy.db"
    match what:
        case "file":
            target.write_text("mine")
        case "link":
            target.symlink_to(spoken)
        case "dangling link":
            target.symlink_to(tmp_path / "nowhere")
        case "folder":
            target.mkdir()
        case _:
            target = spoken
    before, mode = read_rows(spoken), target.lstat()

    with pytest.raises(UsageError, match=f"{target} is there already"):
        back_up(spoken, target, backups(spoken))
    assert target.lstat() == mode
    assert read_rows(spoken) == before
    assert not (tmp_path / "nowhere").exists()
    assert not list(tmp_path.glob("**/*.partial*"))


def test_without_a_folder_to_put_it_in_nothing_is_copied(spoken: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"No copy of it can be put into .*: No such file or directory"):
        back_up(spoken, tmp_path / "nowhere" / "copy.db", backups(spoken))


def test_without_a_database_nothing_is_copied(database: Path) -> None:
    with pytest.raises(StoreError, match="There is no database to copy yet"):
        back_up(database, None, backups(database))
    assert not database.parent.exists()


@pytest.mark.parametrize("point", ["copy:page", "copy:before-rename", "copy:after-rename"])
def test_a_copy_that_is_killed_is_whole_under_its_name_or_not_there(
    spoken: Path, tmp_path: Path, point: str
) -> None:
    target = tmp_path / "copy.db"
    crash_at(point, make_copy, str(spoken), str(target))

    assert target.exists() == (point == "copy:after-rename")
    if not target.exists():
        back_up(spoken, target, backups(spoken))
    assert read_rows(target) == read_rows(spoken)


def test_what_a_killed_copy_left_is_removed_in_time(spoken: Path) -> None:
    crash_at("copy:before-rename", make_copy, str(spoken), "")
    (left,) = backups(spoken).iterdir()
    fresh = back_up(spoken, None, backups(spoken))
    assert left.exists()

    long_ago = time.time() - ABANDONED_SECONDS - 1
    os.utime(left, (long_ago, long_ago))
    again = back_up(spoken, None, backups(spoken))
    assert set(backups(spoken).iterdir()) == {fresh, again}


def test_the_way_back_leads_to_the_newest_copy_that_can_be_read(spoken: Path) -> None:
    assert way_back(backups(spoken)) == NO_COPY
    older = back_up(spoken, backups_made(spoken) / "local-agent-20260101T000000.db", backups(spoken))
    newer = back_up(spoken, backups_made(spoken) / "local-agent-20260102T000000.db", backups(spoken))
    with closing(sqlite3.connect(newer)) as db:
        db.execute("PRAGMA user_version = 99")
    (backups(spoken) / "local-agent-20260103T000000.db").write_text("no database")

    assert newest_copy(backups(spoken)) == newer
    assert newest_copy(backups(spoken), schema=newest_schema()) == older
    assert (
        way_back(backups(spoken), schema=newest_schema())
        == f"Go back to a copy with: local-agent db restore {older}"
    )


def backups_made(database: Path) -> Path:
    backups(database).mkdir(exist_ok=True)
    return backups(database)
