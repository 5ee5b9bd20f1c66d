"""A database that can't be opened as it should: the program starts, reads what it can, and says why.

Every cause is a real one: modes, locks, side files, a full disk. Root is bound by modes here, too.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from local_agent.cli.handles import quoted
from local_agent.config.logs import PrivateLogHandler
from local_agent.config.paths import Paths
from local_agent.domain.errors import Damaged, NotSaved, OnlyReadable, StoreError
from local_agent.store.copies import back_up
from local_agent.store.damage import find_damage, set_aside
from local_agent.store.examine import MAX_PATH_BYTES
from local_agent.store.lookup import known_handles, latest, lookup
from local_agent.store.patience import NOTICE_SECONDS, Patience
from local_agent.store.store import Store
from local_agent.tui.look.quantities import ago, since
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk
from tests.support.permissions import bound_by_modes


async def _said(path: Path) -> str:
    store = Store.open(path, program_version=VERSION)
    held = await talk(store, "What is a tree?", "And a bush?")
    await store.close()
    return held.info.handle


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where copies are made; nothing else is there."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return folder


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "local-agent.db"


@pytest.fixture
def handle(path: Path) -> str:
    """The session of a database that was closed as it should be."""
    return asyncio.run(_said(path))


@pytest.fixture
def logged(path: Path) -> str:
    """The session of a database whose log was left behind: all of it stands there alone."""
    path.parent.mkdir(mode=0o700)
    elsewhere = path.parent.parent / "elsewhere" / path.name
    asyncio.run(_said(elsewhere))
    with closing(sqlite3.connect(elsewhere)) as db:
        # While this reads, nothing can be brought from the log into the file.
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sessions").fetchone()
        handle = asyncio.run(_said(elsewhere))
        for part in elsewhere.parent.glob(f"{path.name}*"):
            if not part.name.endswith("-shm"):
                shutil.copy(part, path.parent)
    assert path.with_name(f"{path.name}-wal").stat().st_size > 0
    return handle


def digests(folder: Path) -> dict[str, str]:
    """Everything under a folder, but for the side files that a look makes: an index, an empty log."""
    files = (each for each in folder.rglob("*") if each.is_file() and each.stat().st_size)
    files = (each for each in files if not each.name.endswith("-shm"))
    return {str(each.relative_to(folder)): hashlib.sha256(each.read_bytes()).hexdigest() for each in files}


def closed_file(path: Path) -> None:
    path.chmod(0o400)


def closed_folder(path: Path) -> None:
    path.parent.chmod(0o500)


def closed_both(path: Path) -> None:
    closed_file(path)
    closed_folder(path)


def copies() -> list[str]:
    return os.listdir(tempfile.gettempdir())


async def _read_copy(path: Path, handle: str) -> list[str]:
    """What a copy shows; a write is refused and no file is left of it."""
    store = Store.read_copy(path, program_version=VERSION)
    try:
        assert not store.writable
        assert not copies(), "a killed process would leave the copy behind"
        assert handle in [info.handle for info in await store.page(ROOT)]
        info = await store.find(handle)
        tail = await store.tail(info.id, 10)
        with pytest.raises(NotSaved):
            await store.rename(handle, "Not to be")
        with pytest.raises(NotSaved):
            await store.create(new_session(), opening())
        return [entry.text for entry in tail.entries]
    finally:
        await store.close()


@pytest.mark.parametrize("close", [closed_file, closed_folder, closed_both])
@pytest.mark.parametrize("session", ["handle", "logged"])
def test_what_cannot_be_written_is_read(
    path: Path,
    close: Callable[[Path], None],
    session: str,
    request: pytest.FixtureRequest,
) -> None:
    handle = request.getfixturevalue(session)
    before = digests(path.parent)
    close(path)
    closed = path.parent if path.parent.stat().st_mode & 0o200 == 0 else path

    def look() -> list[str]:
        with pytest.raises(OnlyReadable) as refusal:
            Store.open(path, program_version=VERSION)
        assert refusal.value.line == f"{closed} can't be written."
        assert refusal.value.hint
        found = lookup(path, handle)
        assert found is not None and found.workspace_root == ROOT
        assert latest(path, ROOT) == found
        assert handle in known_handles(path, 10)
        return asyncio.run(_read_copy(path, handle))

    said = bound_by_modes(look)

    assert said == ["What is a tree?", "On What is a tree?", "And a bush?", "On And a bush?"]
    path.parent.chmod(0o700)
    assert digests(path.parent) == before


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    path = tmp_path / "closed" / "home" / "local-agent.db"

    def look() -> None:
        with pytest.raises(NotSaved, match=r"can't be written: Permission denied\.") as refusal:
            Store.open(path, program_version=VERSION)
        assert not isinstance(refusal.value, OnlyReadable), "there is nothing to read"
        assert "--no-save" in refusal.value.hint
        assert lookup(path, "a1b2c3d") is None

    bound_by_modes(look)


def test_a_file_that_cannot_even_be_read(path: Path, handle: str) -> None:
    path.chmod(0)

    def look() -> None:
        with pytest.raises(StoreError, match="can't be read") as refusal:
            Store.open(path, program_version=VERSION)
        assert not isinstance(refusal.value, OnlyReadable)

    bound_by_modes(look)
    path.chmod(0o600)
    assert asyncio.run(_read_copy(path, handle))


# What is left of the side files once a process died with them.


def without_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").unlink()


def without_index(path: Path) -> None:
    path.with_name(f"{path.name}-shm").unlink(missing_ok=True)


def garbage_for_an_index(path: Path) -> None:
    path.with_name(f"{path.name}-shm").write_bytes(b"\xa5" * 32768)


def garbage_for_a_log(path: Path) -> None:
    path.with_name(f"{path.name}-wal").write_bytes(b"\xa5" * 50000)


def half_a_log(path: Path) -> None:
    log = path.with_name(f"{path.name}-wal")
    os.truncate(log, log.stat().st_size // 2)


@pytest.mark.parametrize(
    "spoil", [without_log, without_index, garbage_for_an_index, garbage_for_a_log, half_a_log]
)
def test_side_files_that_are_not_as_they_were(path: Path, logged: str, spoil: Callable[[Path], None]) -> None:
    spoil(path)

    async def look() -> int:
        store = Store.open(path, program_version=VERSION)
        listed = await store.page(ROOT)
        for info in listed:
            assert (await store.tail(info.id, 10)).entries
        await talk(store, "Does it go on?")
        assert len(await store.page(ROOT)) == len(listed) + 1
        await store.close()
        return len(listed)

    sessions = asyncio.run(look())
    assert sessions == 2 if spoil in (without_index, garbage_for_an_index) else sessions <= 2


def test_an_index_that_cannot_be_written(path: Path, logged: str) -> None:
    index = path.with_name(f"{path.name}-shm")
    index.write_bytes(b"\xa5" * 32768)
    index.chmod(0o400)

    def look() -> list[str]:
        with pytest.raises(OnlyReadable) as refusal:
            Store.open(path, program_version=VERSION)
        assert refusal.value.line == f"{index} can't be written."
        return asyncio.run(_read_copy(path, logged))

    assert bound_by_modes(look)


# Locks.

HOLDER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
for statement in sys.argv[2:]:
    db.execute(statement).fetchall()
print("held", flush=True)
sys.stdin.readline()
"""
EXCLUSIVE = ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN IMMEDIATE")
ROLLBACK = ("PRAGMA journal_mode = DELETE", "BEGIN EXCLUSIVE")


class Holder:
    """Another program that keeps the database locked until it is let go."""

    def __init__(self, path: Path, statements: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path), *statements],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "held\n"

    def __enter__(self) -> Holder:
        return self

    def __exit__(self, *_: object) -> None:
        self.let_go()

    def let_go(self) -> None:
        if self.process.poll() is None:
            self.process.communicate("\n", timeout=30)


@pytest.mark.parametrize("lock", [EXCLUSIVE, ROLLBACK])
def test_waiting_for_another_program_is_told_and_ends_with_the_lock(
    path: Path, handle: str, lock: Sequence[str]
) -> None:
    told: list[bool] = []
    with Holder(path, lock) as holder:

        def tell(waiting: bool) -> None:
            told.append(waiting)
            if waiting:
                holder.let_go()

        store = Store.open(path, program_version=VERSION, patience=Patience(tell))
        assert told == [True, False]
        assert asyncio.run(_listed(store)) == [handle]


def impatient() -> Patience:
    """Gives up as soon as it is told that it waits."""
    patience = Patience(lambda waiting: patience.call_off())
    return patience


@pytest.mark.parametrize("lock", [EXCLUSIVE, ROLLBACK])
def test_waiting_can_be_called_off(path: Path, handle: str, lock: Sequence[str]) -> None:
    before = digests(path.parent)
    with Holder(path, lock):
        looks: list[Callable[[Patience], object]] = [
            lambda patience: Store.open(path, program_version=VERSION, patience=patience),
            lambda patience: lookup(path, handle, patience),
        ]
        for look in looks:
            patience = impatient()
            begun = time.monotonic()
            with pytest.raises(NotSaved, match="locked by another program") as refusal:
                look(patience)
            assert time.monotonic() - begun < 2 * NOTICE_SECONDS
            assert not isinstance(refusal.value, OnlyReadable | Damaged)
    if lock is EXCLUSIVE:
        assert digests(path.parent) == before


async def _listed(store: Store) -> list[str]:
    try:
        return [info.handle for info in await store.page(ROOT)]
    finally:
        await store.close()


# Damage.


def head_is_gone(path: Path) -> None:
    with path.open("r+b") as file:
        file.write(b"\0" * 4096)


def schema_is_gone(path: Path) -> None:
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xa5" * 3996)


def cut_short(path: Path) -> None:
    os.truncate(path, 4096)


@pytest.mark.parametrize("spoil", [head_is_gone, schema_is_gone, cut_short])
def test_a_proven_damaged_file_is_set_aside_and_never_lost(
    path: Path, handle: str, spoil: Callable[[Path], None]
) -> None:
    spoil(path)
    path.with_name(f"{path.name}-wal").write_bytes(b"what was left of a log")
    before = digests(path.parent)
    with pytest.raises(Damaged) as refusal:
        Store.open(path, program_version=VERSION)
    assert "local-agent db" in refusal.value.hint
    damage = find_damage(path)
    assert damage is not None
    assert digests(path.parent) == before

    aside = set_aside(path, damage)

    after = digests(path.parent)
    assert sorted(after.values()) == sorted(before.values())
    assert aside.name.startswith("local-agent-damaged-20") and aside.name in after
    assert f"{aside.name}-wal" in after
    assert asyncio.run(_listed(Store.open(path, program_version=VERSION))) == []
    with pytest.raises(StoreError, match="replaced"):
        set_aside(path, damage)


def test_a_sound_file_is_never_found_damaged(path: Path, logged: str) -> None:
    assert find_damage(path) is None


def test_a_file_that_was_never_ours_is_not_set_aside(path: Path) -> None:
    path.parent.mkdir()
    path.write_text("A letter, and no database.\n" * 1000)
    with pytest.raises(StoreError, match="is no SQLite database") as refusal:
        Store.open(path, program_version=VERSION)
    assert not isinstance(refusal.value, Damaged)


# Paths.

NAMES = [
    "with blanks",
    "it's",
    'say "hi"',
    "100%25",
    "what?mode=memory",
    "#1",
    "two\nlines",
    "日本語 é",
    "\udcff\udcfe",
    "$HOME `id`",
    "semi;colon&",
    "back\\slash",
    "x" * 200,
    "trailing ",
]


async def _everything(path: Path, root: str) -> None:
    """Build, look up, read a copy, back up and set aside."""
    store = Store.open(path, program_version=VERSION)
    handle = (await talk(store, "What is a tree?", root=root)).info.handle
    await store.close()
    found = lookup(path, handle)
    assert found is not None and found.workspace_root == root
    assert latest(path, root) == found
    copy = Store.read_copy(path, program_version=VERSION)
    assert [info.workspace_root for info in await copy.page(root)] == [root]
    await copy.close()
    assert back_up(path, None, path.parent / "backups").stat().st_size
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)
    head_is_gone(path)
    damage = find_damage(path)
    assert damage is not None and set_aside(path, damage).exists()


@pytest.mark.parametrize("name", NAMES)
def test_homes_and_workspaces_of_any_name(tmp_path: Path, name: str) -> None:
    paths = Paths.discover({"LOCAL_AGENT_HOME": str(tmp_path / name), "HOME": str(tmp_path)})
    assert paths.home == tmp_path / name
    asyncio.run(_everything(paths.database, str(tmp_path / f"work {name}")))
    PrivateLogHandler(paths.log_file).emit(logging.makeLogRecord({"msg": "It works."}))
    assert paths.log_file.read_text() == "It works.\n"
    command = f"printf %s {quoted(str(paths.home))}"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, check=True).stdout
    assert shown == os.fsencode(paths.home)


def test_a_path_is_as_long_as_sqlite_takes_or_refused_in_one_line(tmp_path: Path) -> None:
    folder = tmp_path
    while len(os.fsencode(folder)) < MAX_PATH_BYTES - 130:
        folder /= "y" * 100
    folder /= "z" * (MAX_PATH_BYTES - len(os.fsencode(folder)) - len("//local-agent.db"))
    asyncio.run(_everything(folder / "local-agent.db", ROOT))
    for look in (
        lambda path: Store.open(path, program_version=VERSION),
        lambda path: lookup(path, "a1b2c3d"),
    ):
        with pytest.raises(StoreError, match="longer than the 412 bytes") as refusal:
            look(folder / "a" / "local-agent.db")
        assert "LOCAL_AGENT_HOME" in refusal.value.hint
    assert not (folder / "a").exists()


# A full disk, a stepped clock.

LIMITED = """
import resource, sys
from pathlib import Path
from local_agent.domain.errors import NotSaved
from local_agent.store.store import Store
from local_agent.tui.look.quantities import ago, since
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    Store.open(Path(sys.argv[1]), program_version="0.1.0")
except NotSaved as error:
    print(type(error).__name__, error)
"""


@pytest.mark.parametrize("room", [0, 2048, 40_000, 70_000])
def test_no_room_at_the_first_start(path: Path, room: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path), str(room)], capture_output=True, text=True, check=True
    )
    kind, _, sentence = done.stdout.strip().partition(" ")
    assert kind == "NotSaved", done.stdout
    assert sentence.startswith(("The disk is full.", "The disk reports an error.")), sentence
    assert asyncio.run(_said(path)), "with room again it is built"


def step_clock_back(path: Path) -> None:
    """What was written before lies an hour ahead of the clock now."""
    later = (datetime.now(UTC) + timedelta(hours=1)).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    with closing(sqlite3.connect(path)) as db:
        for column in ("created_at", "last_activity"):
            db.execute(f"UPDATE sessions SET {column} = ?", (later,))
        db.execute("UPDATE turns SET started_at = ?, ended_at = ?", (later, later))
        db.execute("UPDATE leases SET since = ?", (later,))
        db.execute("UPDATE error_records SET created_at = ?", (later,))
        db.commit()


def test_a_clock_that_is_stepped_back_changes_no_order(path: Path, handle: str) -> None:
    step_clock_back(path)

    async def look() -> None:
        store = Store.open(path, program_version=VERSION)
        held = await store.hold(handle)
        turn = await held.begin(opening("And now?", held.info.head))
        await held.settle(turn, settled("Now."))
        newer = await talk(store, "The newest one")
        listed = await store.page(ROOT)
        assert [info.handle for info in listed] == [newer.info.handle, handle]
        newest = await store.latest(ROOT)
        assert newest is not None and newest.handle == newer.info.handle
        tail = await store.tail(held.info.id, 20)
        assert [entry.text for entry in tail.entries][-2:] == ["And now?", "Now."]
        assert [entry.id for entry in tail.entries] == sorted(entry.id for entry in tail.entries)
        await store.close()

    asyncio.run(look())
    with closing(sqlite3.connect(path)) as db:
        (stamp,) = db.execute("SELECT started_at FROM turns ORDER BY started_at DESC").fetchone()
    assert (ago(stamp), since(stamp)) == ("now", "just now")
