"""What it costs to bring back what was asked, over a thousand sessions: Up, and the search."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from textual.events import Key, Paste

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.runtime.asked import AskedBefore
from local_agent.store.store import Store
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.prompt.recall import FIRST
from local_agent.tui.screens.recall_search import RecallSearchScreen
from tests.benchmarks.calibration import slowness, work
from tests.benchmarks.report import Row
from tests.runtime.opened import settings_for
from tests.store.samples import VERSION, talk

SESSIONS = 1_000
QUESTIONS = 10
"""Of each session."""
ELSEWHERE = 2_000
"""Sessions of another folder, all of them newer."""
RECALL, KEY = 30.0, 30.0
UPS = 60
NOBODY_THERE = "http://127.0.0.1:9"
LIMIT = 30
PASTED = "some words of a line\n" * 100_000


def measure() -> Iterator[Row]:
    """Processor time of the whole process, drawing included."""
    slowness.cache_clear()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = Paths(home=folder / "home", cache=folder / "cache")
        here = folder / "here"
        here.mkdir()
        asyncio.run(_fill(paths.database, str(here), str(folder / "elsewhere")))
        yield from asyncio.run(_door(paths.database, str(here)))
        yield from asyncio.run(_screen(paths, here))


async def _door(database: Path, root: str) -> list[Row]:
    store = Store.open(database, program_version=VERSION)
    asked = AskedBefore(store, root)
    try:
        await asked.recalled(None, FIRST)
        first = [await work(asked.recalled(None, FIRST)) for _ in range(5)]
        page = [await work(asked.page(everywhere=False)) for _ in range(5)]
    finally:
        await store.close()
    return [
        _row("1,000 sessions, store: what Up reads", first, RECALL, f"{FIRST} questions"),
        _row("1,000 sessions, store: a page of the search", page, RECALL, "500 questions"),
    ]


async def _screen(paths: Paths, workspace: Path) -> list[Row]:
    app = LocalAgentApp(LaunchOptions(workspace), settings_for(NOBODY_THERE), paths)
    async with app.run_test(size=(110, 40)) as pilot:
        await _until(lambda: app.chat.conversation is not None)
        await pilot.pause()
        ups = []
        for _ in range(UPS):
            before = app.chat.composer.text
            ups.append(await work(_recalled(app, before)))
        app.chat.composer.load("")
        opened = await work(_searched(app))
        keys = [await work(_narrowed(app, char)) for char in "777"]
        app.post_message(Key("escape", None))
        await _until(lambda: app.screen is app.chat)
        app.chat.composer.post_message(Paste(PASTED))
        await _until(lambda: bool(app.chat.composer.text))
        echoes = [await work(_echoed(app)) for _ in range(20)]
        app.chat.composer.load("")
        await pilot.press("ctrl+q")
    return [
        _row("1,000 sessions, screen: Up", ups, RECALL),
        Row("1,000 sessions, screen: the search opens", opened, 500.0, "ms", "all 5,000 questions read"),
        _row("1,000 sessions, screen: a key of the search", keys, KEY),
        _row("a key beside a paste of 2 MB", echoes, KEY),
    ]


def _row(what: str, milliseconds: list[float], budget: float, *details: str) -> Row:
    usual = statistics.median(milliseconds)
    slowest = f"median of {len(milliseconds)}, slowest {max(milliseconds):.0f} ms"
    return Row(what, usual, budget, "ms", ", ".join((slowest, *details)))


async def _recalled(app: LocalAgentApp, before: str) -> None:
    app.post_message(Key("up", None))
    await _until(lambda: app.chat.composer.text != before)
    await _refreshed(app)


async def _echoed(app: LocalAgentApp) -> None:
    before = app.chat.composer.text
    app.post_message(Key("x", "x"))
    await _until(lambda: app.chat.composer.text != before)
    await _refreshed(app)


async def _searched(app: LocalAgentApp) -> None:
    app.post_message(Key("ctrl+r", None))
    await _until(lambda: isinstance(app.screen, RecallSearchScreen) and len(_search(app).matching) == 5_000)
    await _refreshed(app)


async def _narrowed(app: LocalAgentApp, char: str) -> None:
    before = len(_search(app).matching)
    app.post_message(Key(char, char))
    await _until(lambda: len(_search(app).matching) < before)
    await _refreshed(app)


def _search(app: LocalAgentApp) -> RecallSearchScreen:
    screen = app.screen
    assert isinstance(screen, RecallSearchScreen)
    return screen


async def _refreshed(app: LocalAgentApp) -> None:
    refreshed = asyncio.Event()
    app.screen.call_after_refresh(refreshed.set)
    await refreshed.wait()


async def _until(holds: object) -> None:
    assert callable(holds)
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "the screen did not get there"
        await asyncio.sleep(0.002)


async def _fill(database: Path, here: str, elsewhere: str) -> None:
    """Sessions of ten turns each: copies of a real one in each folder."""
    store = Store.open(database, program_version=VERSION)
    for root in (here, elsewhere):
        await (await talk(store, "What is a tree?", root=root)).release()
    await store.close()
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        entry, turn = 4, 2
        for session in range(3, SESSIONS + ELSEWHERE + 1):
            original = 1 if session <= SESSIONS else 2
            ids = {"session_id": session}
            last = entry + 2 * QUESTIONS
            named = {"title": f"Session {session}", "handle": f"{session:07x}"}
            _copy(db, "sessions", original, id=session, head=last, last_entry=last, **named)
            _copy(db, "leases", original, session_id=session)
            parent: int | None = None
            for number in range(QUESTIONS):
                entry, turn = entry + 2, turn + 1
                text = f"question {number} of {session} about trees " + "and more words " * 6
                _copy(db, "turns", original, id=turn, **ids)
                asked = {"id": entry - 1, "parent": parent, "text": text}
                _copy(db, "entries", 2 * original - 1, turn_id=turn, **asked, **ids)
                _copy(db, "entries", 2 * original, id=entry, parent=entry - 1, turn_id=turn, **ids)
                parent = entry
        db.commit()


def _copy(db: sqlite3.Connection, table: str, row: int, **changes: object) -> None:
    """Insert what a row says, but for some columns."""
    (found,) = db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (row,))
    values = {**dict(found), **changes}
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))
