"""A database with damage in it: what can be read is read, the rest is shown as lost, nothing blocks.

Real files, damaged by overwriting pages and by updates that go past the triggers.
"""

from __future__ import annotations

import asyncio

import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from local_agent.domain.entries import Entry
from local_agent.domain.errors import Damaged, StoreError
from local_agent.domain.requests import build_messages
from local_agent.store.salvage import UNREADABLE
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, failed, fill, new_session, opening, talk

SESSIONS = 8
LONG = 9_000
"""Characters of an entry that needs overflow pages."""


def says(place: int) -> str:
    return f"entry {place} " + "word " * (LONG // 5 if place % 9 == 0 else 60 + place)


async def _fill(path: Path) -> None:
    store = Store.open(path, program_version=VERSION)
    for number in range(SESSIONS):
        held = await talk(store, f"question {number}", title=f"Session {number}")
        fill(path, held.info.id, 30, says=says)
    held, turn = await store.create(new_session("It failed"), opening())
    await held.settle(turn, failed())
    await store.close()


@pytest.fixture(scope="module")
def filled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database with sessions, long entries and errors, all of it in the file itself."""
    path = tmp_path_factory.mktemp("filled") / "local-agent.db"
    asyncio.run(_fill(path))
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


@pytest.fixture
def filled(filled_once: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir(mode=0o700)
    return Path(shutil.copy(filled_once, folder))


@dataclass
class Reading:
    """What could be read of a database."""

    refused: StoreError | None = None
    sessions: list[str] = field(default_factory=list)
    entries: dict[int, Entry] = field(default_factory=dict)
    held: int = 0
    failures: list[StoreError] = field(default_factory=list)

    @property
    def lost(self) -> int:
        return sum(not entry.readable for entry in self.entries.values())


async def read_all(path: Path) -> Reading:
    """All that a person does to read, and a resume; what is no ``StoreError`` is a fault of the program."""
    reading = Reading()
    try:
        store = Store.open(path, program_version=VERSION)
    except StoreError as error:
        reading.refused = error
        return reading
    try:
        listed = await store.page(ROOT, limit=1000)
        reading.sessions = [info.title for info in listed]
        await store.latest(ROOT)
        for info in listed:
            try:
                if info.title != UNREADABLE:
                    await _read_session(store, info.handle, reading)
            except StoreError as error:
                reading.failures.append(error)
            try:
                held = await store.hold(info.handle)
                reading.held += 1
                await held.release()
            except StoreError as error:
                reading.failures.append(error)
        await store.questions(ROOT, None, 50)
    except StoreError as error:
        reading.failures.append(error)
    finally:
        await store.close()
    return reading


async def _read_session(store: Store, handle: str, reading: Reading) -> None:
    info = await store.find(handle)
    part = await store.tail(info.id, 7)
    while True:
        reading.entries |= {entry.id: entry for entry in part.entries}
        if not part.more:
            break
        part = await store.before(info.id, part.entries[0].id, 7)
    assert info.head is not None
    path = await store.model_path(info.head)
    assert len(path) >= 1
    sent = build_messages("", path)
    assert all(str(message.content).strip() for message in sent)
    await store.errors(info.id)


def damage(path: Path, page: int, pattern: bytes) -> None:
    """Overwrite one page, numbered from 1."""
    with path.open("r+b") as file:
        file.seek((page - 1) * 4096)
        file.write((pattern * 4096)[:4096])


def pages_of(path: Path) -> int:
    return path.stat().st_size // 4096


PATTERNS = {"zeros": b"\0", "garbage": b"\xa5\x5a\x13", "a leaf of no row": b"\x0d\0\0\0\0\x10\0\0"}


def tally(path: Path, whole: Reading, page: int, pattern: bytes, found: Counter[str]) -> None:
    """Damage one page, read everything, and check that nothing but what lay on it is lost."""
    damage(path, page, pattern)
    reading = asyncio.run(read_all(path))
    where = f"page {page} of {pattern[:3]!r}"
    found["pages"] += 1
    if reading.refused is not None:
        found["refused at the start"] += 1
        assert isinstance(reading.refused, Damaged), f"{where}: {reading.refused!r}"
        assert "local-agent db" in reading.refused.hint, where
        return
    for error in reading.failures:
        assert isinstance(error, StoreError), where
        assert error.hint, f"{where}: {error!r}"
    wrong = [
        key
        for key, entry in reading.entries.items()
        if entry.readable and key in whole.entries and entry.text != whole.entries[key].text
    ]
    assert not wrong, f"{where}: entries {wrong} show what they did not hold"
    found["opened"] += 1
    found["all sessions listed"] += len(reading.sessions) == len(whole.sessions)
    found["all entries found"] += reading.entries.keys() == whole.entries.keys()
    found["entries lost"] += reading.lost
    found["resumed"] += reading.held


def read_with_each_page_damaged(
    filled: Path, pages: range, patterns: dict[str, bytes]
) -> tuple[Reading, Counter[str]]:
    whole = asyncio.run(read_all(filled))
    assert len(whole.sessions) == SESSIONS + 1 and not whole.lost and not whole.failures
    with closing(sqlite3.connect(filled)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    sound = filled.read_bytes()
    found: Counter[str] = Counter()
    for pattern in patterns.values():
        for page in pages:
            for beside in filled.parent.glob(f"{filled.name}-*"):
                beside.unlink()
            filled.write_bytes(sound)
            tally(filled, whole, page, pattern, found)
    return whole, found


@pytest.mark.slow
def test_whatever_page_is_damaged(filled: Path, proven: Callable[[str], None]) -> None:
    whole, found = read_with_each_page_damaged(filled, range(1, pages_of(filled) + 1), PATTERNS)
    proven(f"damaged pages: {dict(found)}; {len(whole.entries)} entries in {len(whole.sessions)} sessions")


def test_some_pages_are_damaged(filled: Path) -> None:
    whole, found = read_with_each_page_damaged(
        filled, range(2, pages_of(filled) + 1, 9), {"garbage": PATTERNS["garbage"]}
    )
    assert found["opened"] >= 0.8 * found["pages"]
    assert found["all entries found"] >= 0.8 * found["opened"]
    assert found["entries lost"] > 0
    assert found["entries lost"] <= len(whole.entries)
