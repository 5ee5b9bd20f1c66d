"""A database with damage in it: what can be read is read, the rest is shown as lost, nothing blocks.

Real files, damaged by overwriting pages and by updates that go past the triggers.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sqlite3
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from local_agent.domain.entries import Entry
from local_agent.domain.errors import Damaged, StoreError
from local_agent.domain.requests import build_messages
from local_agent.store.salvage import UNREADABLE
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, failed, fill, new_session, opening, talk

FEW, MANY = 2, 8
"""Sessions of the quick and of the long form, with one more whose turn failed."""
LONG = 9_000
"""Characters of an entry that needs overflow pages."""


def says(place: int) -> str:
    return f"entry {place} " + "word " * (LONG // 5 if place % 4 == 0 else 60 + place)


async def _fill(path: Path, sessions: int) -> None:
    store = Store.open(path, program_version=VERSION)
    for number in range(sessions):
        held = await talk(store, f"question {number}", title=f"Session {number}")
        fill(path, held.info.id, 4 * sessions, says=says)
    held, turn = await store.create(new_session("It failed"), opening())
    await held.settle(turn, failed())
    await store.close()


def make_filled(path: Path, sessions: int) -> Path:
    """A database with sessions, long entries and errors, all of it in the file itself."""
    path.parent.mkdir(mode=0o700)
    asyncio.run(_fill(path, sessions))
    bring_in_log(path)
    return path


def bring_in_log(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    return make_filled(tmp_path / "home" / "local-agent.db", FEW)


def put_back(path: Path, data: bytes) -> None:
    """The file as it was, without a log."""
    for beside in path.parent.glob(f"{path.name}-*"):
        beside.unlink()
    path.write_bytes(data)


@dataclass
class Reading:
    """What could be read of a database."""

    refused: StoreError | None = None
    sessions: list[str] = field(default_factory=list)
    values: list[object] = field(default_factory=list)
    """What was listed, and what was read beside the entries."""
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
        reading.values += listed
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
    reading.values += [*part.turns.values(), *part.errors.values(), *await store.errors(info.id)]


def damage(path: Path, page: int, pattern: bytes) -> None:
    """Overwrite one page, numbered from 1."""
    with path.open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write((pattern * PAGE)[:PAGE])


def pages_of(path: Path) -> int:
    return path.stat().st_size // PAGE


PAGE = 4096
PATTERNS = {"zeros": b"\0", "garbage": b"\xa5\x5a\x13", "a leaf of no row": b"\x0d\0\0\0\0\x10\0\0"}


def is_left_of(text: str, whole: str) -> bool:
    """True for a text without a fault, and for one of which a page's bytes at most are others.

    SQLite has no checksums: what lies on the last page of a text, and is text by chance, reads as such.
    """
    found, stored = text.encode(), whole.encode()
    other = [place for place, (one, two) in enumerate(zip(found, stored, strict=False)) if one != two]
    return len(found) == len(stored) and (not other or other[-1] - other[0] < PAGE)


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
        if entry.readable and key in whole.entries and not is_left_of(entry.text, whole.entries[key].text)
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
    assert whole.entries and not whole.lost and not whole.failures
    bring_in_log(filled)
    sound = filled.read_bytes()
    found: Counter[str] = Counter()
    for pattern in patterns.values():
        for page in pages:
            put_back(filled, sound)
            tally(filled, whole, page, pattern, found)
    return whole, found


@pytest.mark.slow
def test_whatever_page_is_damaged(tmp_path: Path, proven: Callable[[str], None]) -> None:
    filled = make_filled(tmp_path / "home" / "local-agent.db", MANY)
    whole, found = read_with_each_page_damaged(filled, range(1, pages_of(filled) + 1), PATTERNS)
    proven(f"damaged pages: {dict(found)}; {len(whole.entries)} entries in {len(whole.sessions)} sessions")


def test_some_pages_are_damaged(filled: Path) -> None:
    whole, found = read_with_each_page_damaged(
        filled, range(6, pages_of(filled) + 1, 6), {"garbage": PATTERNS["garbage"]}
    )
    assert found["opened"] >= 0.8 * found["pages"]
    assert found["all entries found"] >= 0.8 * found["opened"]
    assert 0 < found["entries lost"] < len(whole.entries) * found["opened"] / 2


DROP_TRIGGERS = "SELECT 'DROP TRIGGER ' || name FROM sqlite_master WHERE type = 'trigger'"
NO_TEXT = b"\xff\xfe half \x80\xc3"


@dataclass(frozen=True)
class Strange:
    """A value that nothing of ours writes in this column."""

    table: str
    column: str
    value: object


LOST = [
    Strange("entries", "text", NO_TEXT),
    Strange("entries", "thinking", NO_TEXT),
    Strange("entries", "kind", "poem"),
    Strange("entries", "kind", b"\xff"),
    Strange("entries", "origin", 9),
    Strange("entries", "status", "blue"),
    Strange("entries", "calls", "{not json"),
    Strange("entries", "calls", '[{"id": 1}]'),
    Strange("entries", "calls", "7"),
    Strange("entries", "turn_id", "x"),
    Strange("entries", "call_number", "many"),
    Strange("entries", "text", None),
    Strange("entries", "kind", None),
]
"""Each takes its entry's text with it."""

STRANGE = [
    Strange("entries", "context", 7),
    Strange("entries", "text", 12.5),
    Strange("entries", "created_at", b"\xff"),
    Strange("entries", "created_at", "yesterday"),
    Strange("turns", "status", "asleep"),
    Strange("turns", "prompt_tokens", "many"),
    Strange("turns", "reply_seconds", b"\xff"),
    Strange("turns", "started_at", 5),
    Strange("sessions", "title", NO_TEXT),
    Strange("sessions", "title", 5),
    Strange("sessions", "model", b"\xff\x00"),
    Strange("sessions", "mode", b"\xff"),
    Strange("sessions", "created_at", b"\xff"),
    Strange("sessions", "turn_count", "several"),
    Strange("sessions", "last_activity", 1.5),
    Strange("sessions", "model_pinned", "perhaps"),
    Strange("workspaces", "git_root_commit", b"\xff"),
    Strange("leases", "pid", "nobody"),
    Strange("leases", "since", b"\xff"),
    Strange("leases", "generation", "first"),
    Strange("error_records", "kind", b"\xff"),
    Strange("error_records", "line", NO_TEXT),
    Strange("head_moves", "cause", b"\xff"),
    Strange("head_moves", "step", "first"),
    Strange("head_moves", "undo_below", b"\xff"),
    Strange("head_moves", "messages", "several"),
    Strange("sessions", "branch_count", "many"),
    Strange("sessions", "title", None),
    Strange("sessions", "turn_count", None),
    Strange("turns", "model", None),
    Strange("error_records", "line", None),
]
"""Each costs no more than itself."""


def put(path: Path, values: Sequence[Strange], *, each_in_its_own_row: bool) -> None:
    """Write past triggers and constraints."""
    with closing(sqlite3.connect(path)) as db:
        for (drop,) in db.execute(DROP_TRIGGERS).fetchall():
            db.execute(drop)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET sql = replace(sql, 'NOT NULL', '') WHERE type = 'table'")
        db.execute("PRAGMA writable_schema = RESET")
        for row, strange in enumerate(values, 1):
            where = f"WHERE id = {row}" if each_in_its_own_row else ""
            db.execute(f"UPDATE {strange.table} SET {strange.column} = ? {where}", (strange.value,))
        db.commit()


def mistyped(value: Any) -> list[str]:
    """Fields that hold another type than they say."""
    hints = get_type_hints(type(value))
    held = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    return [f"{name} = {what!r}" for name, what in held.items() if not isinstance(what, hints[name])]


def test_entries_that_nothing_of_ours_wrote(filled: Path) -> None:
    put(filled, LOST, each_in_its_own_row=True)
    reading = asyncio.run(read_all(filled))

    assert not reading.failures and reading.refused is None
    assert reading.held == len(reading.sessions) == FEW + 1
    strange = dict(enumerate(LOST, 1))
    assert {key: strange.get(key) for key, entry in reading.entries.items() if not entry.readable} == strange
    assert len(reading.entries) > len(LOST)


def test_columns_that_nothing_of_ours_wrote(filled: Path) -> None:
    """Every row of every column that is no entry's text; as many rounds as a column has values."""
    sound, left = filled.read_bytes(), list(STRANGE)
    while left:
        here = list({(each.table, each.column): each for each in left}.values())
        left = [each for each in left if each not in here]
        put_back(filled, sound)
        put(filled, here, each_in_its_own_row=False)
        reading = asyncio.run(read_all(filled))

        assert not reading.failures and reading.refused is None, here
        assert reading.held == len(reading.sessions) == FEW + 1, here
        assert not reading.lost, here
        assert not [wrong for value in reading.values for wrong in mistyped(value)], here
