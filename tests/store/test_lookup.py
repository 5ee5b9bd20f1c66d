"""Before the screen: a handle is found without SQLAlchemy, in a file that nothing touches."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from local_agent.domain.errors import StoreError
from local_agent.store.lookup import Found, known_handles, latest, lookup
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk

PROJECT = Path(__file__).parents[2]


async def test_what_the_store_knows_is_found(store: Store, database: Path) -> None:
    first = await talk(store, "a", title="First \ud800")
    second = await talk(store, "b", title="Second", root="/projects/\udce9lse")
    shot, turn = await store.create(new_session("One shot", headless=True), opening())
    await shot.settle(turn, settled())

    assert lookup(database, first.info.handle) == Found(first.info.handle, "First \ud800", ROOT)
    assert latest(database, "/projects/\udce9lse") == Found(
        second.info.handle, "Second", "/projects/\udce9lse"
    )
    assert (newest := latest(database, ROOT)) is not None and newest.handle == first.info.handle
    assert known_handles(database, 2) == [shot.info.handle, second.info.handle]

    await store.trash(first.info.handle)
    assert latest(database, ROOT) is None
    assert known_handles(database, 9) == [shot.info.handle, second.info.handle]
    assert lookup(database, first.info.handle) is not None


async def test_after_a_clean_end_the_file_alone_is_enough(store: Store, database: Path) -> None:
    held = await talk(store, "a")
    await store.close()
    assert lookup(database, held.info.handle) is not None


def test_where_nothing_is_nothing_is_found(database: Path) -> None:
    assert lookup(database, "a1b2c3d") is None
    database.parent.mkdir()
    database.touch()
    assert latest(database, ROOT) is None
    assert known_handles(database, 5) == []
    assert database.stat().st_size == 0


def test_a_fresh_database_knows_no_handle(database: Path) -> None:
    Store.open(database, program_version=VERSION)
    assert lookup(database, "a1b2c3d") is None
    assert latest(database, ROOT) is None


def test_a_file_that_is_no_database_is_refused(database: Path) -> None:
    database.parent.mkdir()
    database.write_text("a letter")
    with pytest.raises(StoreError, match="is no SQLite database"):
        lookup(database, "a1b2c3d")


async def test_looking_at_a_database_drops_no_lock_of_this_process(store: Store, database: Path) -> None:
    held = await talk(store, "a")
    lookup(database, held.info.handle)
    second = Store.open(database, program_version=VERSION)
    await second.close()

    # Where SQLite keeps its shared lock: a connection that closes may empty the log only if it gets these.
    program = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'rb+') as file:\n"
        "    try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 510, 0x40000002)\n"
        "    except OSError: sys.exit(3)\n"
    )
    done = await asyncio.to_thread(subprocess.run, [sys.executable, "-c", program, str(database)], timeout=60)
    assert done.returncode == 3


def test_it_imports_nothing_heavy() -> None:
    program = (
        "import sys, local_agent.store.lookup\n"
        "heavy = {'sqlalchemy', 'alembic', 'pydantic', 'filelock', 'asyncio', 'textual', 'click'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True, timeout=60)
