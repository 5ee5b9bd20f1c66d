"""Whatever the umask, nobody else can read what is stored."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft
from local_agent.store.copies import back_up
from local_agent.store.engine import open_engine
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, talk


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {
        str(each.relative_to(folder)): stat.S_IMODE(each.stat().st_mode)
        for each in (folder, *folder.rglob("*"))
    }


@pytest.mark.usefixtures("umask")
async def test_files_and_folders_are_private(database: Path) -> None:
    store = Store.open(database, program_version=VERSION)
    await talk(store, "one")
    await store.save_draft(ROOT, None, Draft("half"))
    back_up(database, None, database.parent / "backups")

    found = modes(database.parent)
    await store.close()
    folders = {".", "locks", "backups"}
    assert {f"local-agent.db{end}" for end in ("", "-wal", "-shm")} <= found.keys()
    assert {name: oct(mode) for name, mode in found.items()} == {
        name: oct(0o700 if name in folders else 0o600) for name in found
    }
    assert len(found) == len(folders) + 3 + 2


def test_a_file_that_others_could_read_is_closed_to_them(database: Path) -> None:
    Store.open(database, program_version=VERSION)
    database.chmod(0o644)

    Store.open(database, program_version=VERSION)
    assert oct(modes(database.parent)[database.name]) == oct(0o600)


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o755)
    Store.open(shared / "local-agent.db", program_version=VERSION)

    assert oct(modes(shared)["."]) == oct(0o755)


def test_every_connection_is_set_as_it_must_be(database: Path) -> None:
    Store.open(database, program_version=VERSION)
    expected = {
        "journal_mode": "wal",
        "synchronous": 2,
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
        "busy_timeout": 100,
    }
    engine = open_engine(database)
    for _ in range(2):
        with engine.connect() as connection:
            found = {name: connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in expected}
        assert found == expected


def content_of(database: Path) -> bytes:
    return database.read_bytes() + database.with_name(f"{database.name}-wal").read_bytes()


async def test_deleted_text_leaves_the_file(database: Path) -> None:
    planted = b"a planted word"
    store = Store.open(database, program_version=VERSION)
    await store.save_draft(ROOT, None, Draft("a planted word " * 50))
    assert planted in content_of(database)
    await store.save_draft(ROOT, None, Draft(""))
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    assert planted not in content_of(database)
    await store.close()
