"""What ten thousand sessions cost who looks for one: at the store's door, and in the screen."""

from __future__ import annotations

import asyncio
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from textual.events import Key
from textual.message_pump import MessagePump

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.domain.sessions import SessionInfo
from local_agent.store.store import Store
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.sessions import SessionsScreen
from tests.benchmarks.calibration import slowness, work
from tests.benchmarks.report import Row
from tests.runtime.opened import settings_for
from tests.store.samples import VERSION, talk

SESSIONS = 10_000
FOLDERS = 4
"""Over which they are spread; a quarter lies in the folder that the screen opens with."""
OPEN, KEY = 100.0, 30.0
TYPED = "rename a test"
TABS = 5
NOBODY_THERE = "http://127.0.0.1:9"
LIMIT = 30
_WORDS = ("polish", "rename", "test", "server", "parser", "index", "picture", "budget", "lease", "window")


def measure() -> Iterator[Row]:
    """Processor time of the whole process, drawing included."""
    slowness.cache_clear()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = Paths(home=folder / "home", cache=folder / "cache")
        roots = [str(folder / f"project-{number}") for number in range(FOLDERS)]
        asyncio.run(_fill(paths.database, roots))
        yield from asyncio.run(_door(paths.database, roots[0]))
        Path(roots[0]).mkdir()
        yield from asyncio.run(_screen(paths, Path(roots[0])))


async def _door(database: Path, root: str) -> list[Row]:
    store = Store.open(database, program_version=VERSION)
    try:
        await store.page(root)
        first = await work(store.page(root))
        keys = [
            await work(store.page(where, text_filter=TYPED[:end]))
            for where in (root, None)
            for end in range(1, len(TYPED) + 1)
        ]
        everywhere = await work(store.page(None))
        pages = []
        seen: list[SessionInfo] = []

        async def turn_page() -> None:
            seen.extend(await store.page(None, before=seen[-1].place if seen else None))

        while len(seen) < SESSIONS:
            pages.append(await work(turn_page()))
    finally:
        await store.close()
    of = f"{SESSIONS // FOLDERS} of them here"
    return [
        Row("10,000 sessions, store: first page", first, OPEN, "ms", of),
        _row("10,000 sessions, store: a key of the filter", keys),
        Row("10,000 sessions, store: all folders", everywhere, KEY, "ms"),
        _row("10,000 sessions, store: a page further", pages),
    ]


async def _screen(paths: Paths, workspace: Path) -> list[Row]:
    app = LocalAgentApp(LaunchOptions(workspace), settings_for(NOBODY_THERE), paths)
    async with app.run_test(size=(110, 40)) as pilot:
        await _until(lambda: app.chat.conversation is not None)
        opened = []
        for _ in range(3):
            opened.append(await work(_drawn(app, Key("ctrl+s", None))))
            await work(_previewed(app))
            await _close(app)
        await _drawn(app, Key("ctrl+s", None))
        keys = [await work(_drawn(app, Key(_name(char), char))) for char in TYPED]
        # Every other one leads back to the folder's own.
        tabs = [await work(_drawn(app, Key("tab", "\t"))) for _ in range(2 * TABS - 1)]
        keys += [await work(_drawn(app, Key("backspace", None))) for _ in TYPED]
        preview = await work(_previewed(app))
        ends = [await work(_drawn(app, Key("ctrl+end", None))) for _ in range(SESSIONS // 100)]
        shown = len(_sessions(app).browser.loaded)
        await _close(app)
        await pilot.press("ctrl+q")
    first, *again = opened
    return [
        # The first time loads modules and a style sheet besides.
        Row("10,000 sessions, screen: open", min(again), OPEN, "ms", f"the first time {first:.0f} ms"),
        _row("10,000 sessions, screen: a key of the filter", keys),
        _row("10,000 sessions, screen: all folders", tabs[::2]),
        Row("10,000 sessions, screen: the preview", preview, KEY, "ms", "once keys pause"),
        _row("10,000 sessions, screen: a page further", ends, f"{shown} loaded in the end"),
    ]


def _row(what: str, milliseconds: list[float], *details: str) -> Row:
    usual = statistics.median(milliseconds)
    slowest = f"median of {len(milliseconds)}, slowest {max(milliseconds):.0f} ms"
    return Row(what, usual, KEY, "ms", ", ".join((slowest, *details)))


async def _drawn(app: LocalAgentApp, key: Key) -> None:
    """Press a key and wait until the rows that it asks for are drawn."""
    app.post_message(key)
    await _passed(app)
    await _until(lambda: isinstance(app.screen, SessionsScreen) and bool(_sessions(app).browser.loaded))
    # From the app to the screen, from there to what has the focus, and back with what changed.
    for node in (app.screen, app.screen.focused or app.screen, app.screen):
        await _passed(node)
    await _until(lambda: not _working(app, "rows"))
    await _refreshed(_sessions(app))


async def _previewed(app: LocalAgentApp) -> None:
    await _until(lambda: not _working(app, "preview"))
    await _refreshed(_sessions(app))


async def _close(app: LocalAgentApp) -> None:
    app.post_message(Key("escape", None))
    await _until(lambda: app.screen is app.chat)


async def _passed(node: MessagePump) -> None:
    """Wait until what is in a node's queue now has been dealt with."""
    passed = asyncio.Event()
    node.call_later(passed.set)
    await passed.wait()


async def _refreshed(screen: SessionsScreen) -> None:
    refreshed = asyncio.Event()
    screen.call_after_refresh(refreshed.set)
    await refreshed.wait()


def _working(app: LocalAgentApp, group: str) -> bool:
    return any(worker.group == group and not worker.is_finished for worker in app.workers)


def _sessions(app: LocalAgentApp) -> SessionsScreen:
    screen = app.screen
    assert isinstance(screen, SessionsScreen)
    return screen


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "the screen did not get there"
        await asyncio.sleep(0.002)


async def _fill(database: Path, roots: list[str]) -> None:
    """Sessions of one turn each, in each folder a real one and its copies."""
    store = Store.open(database, program_version=VERSION)
    for root in roots:
        await (await talk(store, "What is a tree?", root=root)).release()
    await store.close()
    with closing(sqlite3.connect(database)) as db:
        db.row_factory = sqlite3.Row
        originals = range(1, FOLDERS + 1)
        for number in range(FOLDERS + 1, SESSIONS + 1):
            original = originals[number % FOLDERS]
            ids = {"session_id": number, "turn_id": number}
            question, answer = 2 * number - 1, 2 * number
            head = {"head": answer, "last_entry": answer, "title": _title(number), "handle": f"{number:07x}"}
            _copy(db, "sessions", original, id=number, **head)
            _copy(db, "turns", original, id=number, session_id=number)
            _copy(db, "entries", 2 * original - 1, id=question, **ids)
            _copy(db, "entries", 2 * original, id=answer, parent=question, **ids)
            _copy(db, "leases", original, session_id=number)
        db.commit()


def _copy(db: sqlite3.Connection, table: str, row: int, **changes: object) -> None:
    """Insert what a row says, but for some columns."""
    (found,) = db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (row,))
    values = {**dict(found), **changes}
    marks = ", ".join("?" * len(values))
    db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values()))


def _title(number: int) -> str:
    return " ".join((*(_WORDS[number // step % len(_WORDS)] for step in (1, 10, 100)), str(number)))


def _name(char: str) -> str:
    return "space" if char == " " else char
