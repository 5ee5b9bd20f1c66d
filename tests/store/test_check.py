"""A check finds what is wrong with a database, says how to go on, and changes nothing."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.store.check import check
from local_agent.store.copies import back_up
from local_agent.store.store import Store
from tests.proofs.revisions import bring_up, first, one_more
from tests.store.other_process import OtherProcess
from tests.store.samples import VERSION, fill, talk
from tests.store.test_refusals import content
from tests.support.crash import ROOT


def execute(database: Path, *statements: str) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)


@pytest.fixture
async def spoken(built: Path) -> Path:
    store = Store.open(built, program_version=VERSION)
    await talk(store, "one", "two")
    await store.close()
    execute(built, "PRAGMA wal_checkpoint(TRUNCATE)")
    return built


def handle_of(database: Path) -> str:
    with closing(sqlite3.connect(database)) as db:
        return str(db.execute("SELECT handle FROM sessions").fetchone()[0])


def test_all_is_well(spoken: Path) -> None:
    back_up(spoken, None, spoken.parent / "backups")
    before = content(spoken.parent)
    found = check(spoken, spoken.parent / "backups")

    assert found.problems == []
    assert (found.exists, found.journal, found.revision, found.pending) == (True, "wal", "0005", ())
    assert found.size == spoken.stat().st_size
    assert found.last_backup is not None
    assert found.holdings is not None
    assert (found.holdings.sessions, found.holdings.entries, found.holdings.turns) == (1, 4, 2)
    assert found.holdings.newest is not None
    assert content(spoken.parent) == before


def test_nothing_is_there_yet(database: Path) -> None:
    found = check(database, database.parent / "backups")
    assert (found.exists, found.problems, found.holdings) == (False, [], None)
    assert not database.parent.exists()


def test_another_process_writes_meanwhile(spoken: Path) -> None:
    with OtherProcess(spoken) as other:
        other.tell("create", "Still going")
        other.tell("keep", "half a rep")
        found = check(spoken, spoken.parent / "backups")
        other.tell("settle", "half a reply and the rest")
    assert found.problems == []
    assert found.holdings is not None
    assert found.holdings.entries == 5


def unreadable_text(database: Path) -> None:
    """Bytes in one message that the program can't have written."""
    execute(
        database,
        "DROP TRIGGER entries_never_change",
        "UPDATE entries SET text = CAST(x'ff00ff' AS TEXT) WHERE id = 2",
        "CREATE TRIGGER entries_never_change BEFORE UPDATE ON entries\n"
        "    BEGIN\n        SELECT RAISE(ABORT, 'an entry never changes');\n    END",
    )


def lost_trigger(database: Path) -> None:
    execute(database, "DROP TRIGGER entries_never_go")


def added_table(database: Path) -> None:
    execute(database, "CREATE TABLE extra (a)")


def lost_references(database: Path) -> None:
    execute(database, "PRAGMA foreign_keys = OFF", "DELETE FROM turns")


def newer(database: Path) -> None:
    bring_up(str(database), str(one_more(database.parent.parent / "migrations")))
    shutil.rmtree(database.parent / "backups")


def text_file(database: Path) -> None:
    database.write_text("a letter\n" * 1000)


def foreign(database: Path) -> None:
    database.unlink()
    execute(database, "CREATE TABLE songs (id INTEGER)")


def header(database: Path) -> None:
    with database.open("r+b") as file:
        file.write(b"\xa5" * 4096)


def cut_short(database: Path) -> None:
    os.truncate(database, 8192)


def folder(database: Path) -> None:
    database.unlink()
    database.mkdir()


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        (unreadable_text, "1 message of session HANDLE can't be read."),
        (lost_trigger, "The trigger entries_never_go is missing."),
        (added_table, "The table extra was added or changed."),
        (lost_references, "4 rows of entries point at rows of turns that are gone."),
        (newer, "was written by a newer local-agent, 0.2.0 (it has 0006_next.py)."),
        (text_file, "is damaged."),
        (foreign, "belongs to another program."),
        (header, "is damaged."),
        (cut_short, "is damaged."),
        (folder, "it is no file."),
    ],
)
def test_what_is_wrong_is_said_and_left_alone(
    spoken: Path, harm: Callable[[Path], None], problem: str
) -> None:
    expected = problem.replace("HANDLE", handle_of(spoken))
    harm(spoken)
    before = content(spoken.parent)
    found = check(spoken, spoken.parent / "backups")

    assert any(expected in each for each in found.problems), found.problems
    assert content(spoken.parent) == before


def lengthen(database: Path, count: int) -> None:
    with closing(sqlite3.connect(database)) as db:
        (session,) = db.execute("SELECT id FROM sessions").fetchone()
    fill(database, session, count)
    execute(database, "PRAGMA wal_checkpoint(TRUNCATE)")


def test_a_damaged_page_costs_the_messages_on_it_and_they_are_counted(spoken: Path) -> None:
    lengthen(spoken, 2_000)
    backups = spoken.parent / "backups"
    made = back_up(spoken, None, backups)
    handle = handle_of(spoken)
    size = spoken.stat().st_size
    starts = range(size // 4096 // 2 * 4096, size, 4096)
    hurt = next(start for start in starts if b"x" * 200 in _page(spoken, start))
    with spoken.open("r+b") as file:
        file.seek(hurt)
        file.write(b"\xa5" * 4096)
    found = check(spoken, backups)

    assert 5 < found.unreadable[handle] < 30
    assert f"{found.unreadable[handle]} messages of session {handle} can't be read." in found.problems
    assert found.problems[0].startswith("The file is damaged: ")
    assert found.holdings is not None
    assert found.holdings.entries == 2_004
    assert found.way_out == f"Go back to a copy with: local-agent db restore {made}"


def _page(database: Path, start: int) -> bytes:
    with database.open("rb") as file:
        file.seek(start)
        return file.read(4096)


def test_a_database_that_waits_for_an_update_is_well(spoken: Path, tmp_path: Path) -> None:
    """Compared with what the migrations build up to its own revision."""
    ahead = one_more(tmp_path / "ahead")
    assert first(1, ahead, tmp_path / "then")
    found = check(spoken, spoken.parent / "backups", ahead)

    assert found.problems == []
    assert (found.revision, found.pending) == ("0005", ("0006_next.py",))


def test_a_check_can_be_ended_at_any_time(spoken: Path) -> None:
    """Ctrl+C in a long statement."""
    lengthen(spoken, 60_000)
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from local_agent.store.check import check\n"
        "print('begun', flush=True)\n"
        "check(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "print('done', flush=True)\n"
    )
    command = [sys.executable, "-c", program, str(spoken), str(spoken.parent / "backups")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as checking:
        assert checking.stdout is not None
        assert checking.stdout.readline() == b"begun\n"
        started = time.monotonic()
        checking.send_signal(signal.SIGINT)
        out, errors = checking.communicate(timeout=30)
    assert out == b""
    assert errors.strip().endswith(b"KeyboardInterrupt")
    assert time.monotonic() - started < 2
