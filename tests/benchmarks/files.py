"""What an ``@`` costs in a folder of a hundred thousand files: at the index's door, and in the screen."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from textual.events import Key

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.widgets.completion import CompletionList
from local_agent.workspace.index import FileIndex
from tests.benchmarks.calibration import slowness
from tests.benchmarks.report import Row
from tests.runtime.opened import settings_for

FOLDERS, IN_EACH = 1_000, 100
KEY = 50.0
LOOKED_THROUGH = 3_000.0
TYPED = "@spw42"
"""Letters that are found apart from each other, which costs most."""
QUERIES = ("s", "server", "server_picture42.py", "store/win", "stmod", "spw42", "zq", "README")
NOBODY_THERE = "http://127.0.0.1:9"
LIMIT = 30
_WORDS = (
    "polish",
    "rename",
    "test",
    "server",
    "parser",
    "index",
    "picture",
    "budget",
    "lease",
    "window",
    "model",
)


def measure() -> Iterator[Row]:
    """Processor time of the whole process, drawing included."""
    slowness.cache_clear()
    with tempfile.TemporaryDirectory() as name:
        home = Path(name).resolve()
        root = home / "project"
        grow(root)
        yield from _door(root)
        yield asyncio.run(_screen(Paths(home=home / "home", cache=home / "cache"), root))


def grow(root: Path) -> None:
    """A hundred thousand empty files in a thousand folders."""
    chosen = random.Random(1)
    for folder in range(FOLDERS):
        one, two = _WORDS[folder % len(_WORDS)], chosen.choice(_WORDS)
        here = root / f"{one}_{folder // 20}" / f"{two}-{folder % 20}" / chosen.choice(_WORDS)
        here.mkdir(parents=True)
        for number in range(IN_EACH):
            (here / f"{chosen.choice(_WORDS)}_{chosen.choice(_WORDS)}{number}.py").touch()


def _door(root: Path) -> Iterator[Row]:
    index = FileIndex(root)
    begin = time.process_time()
    index.refresh()
    while index.building:
        time.sleep(0.01)
    looked = _milliseconds(begin)
    known = index.find("").known
    yield Row(
        "100,000 files: looking through them",
        looked,
        LOOKED_THROUGH,
        "ms",
        f"{known:,} names, beside the keys",
    )
    slowest = {query: _found(index, query) for query in QUERIES}
    query, most = max(slowest.items(), key=lambda each: each[1])
    usual = statistics.median(slowest.values())
    yield Row("100,000 files: a query", most, KEY, "ms", f"the slowest, {query!r}; median {usual:.1f} ms")


async def _screen(paths: Paths, root: Path) -> Row:
    app = LocalAgentApp(LaunchOptions(root), settings_for(NOBODY_THERE), paths)
    async with app.run_test(size=(110, 40)) as pilot:
        await _until(lambda: app.chat.conversation is not None)
        await pilot.press("@")
        await _until(lambda: _known(app) and not _looking(app))
        keys = []
        for _ in range(3):
            for char in TYPED[1:]:
                keys.append(await _drawn(app, Key(char, char)))
            for _ in TYPED[1:]:
                keys.append(await _drawn(app, Key("backspace", None)))
        await pilot.press("ctrl+u", "ctrl+q")
    usual, most = statistics.median(keys), max(keys)
    return Row(
        "100,000 files: a key behind @",
        usual,
        KEY,
        "ms",
        f"median of {len(keys)}, slowest {most:.0f} ms, drawn",
    )


async def _drawn(app: LocalAgentApp, key: Key) -> float:
    """Press a key and wait until the list that belongs to it is drawn."""
    pane = app.chat.pane
    begin = time.process_time()
    app.post_message(key)
    # From the app to the screen, from there to the composer, and what changed there to the pane.
    for node in (app, app.chat, app.chat.composer, pane, pane, app.chat):
        passed = asyncio.Event()
        node.call_later(passed.set)
        await passed.wait()
    refreshed = asyncio.Event()
    app.chat.call_after_refresh(refreshed.set)
    await refreshed.wait()
    return _milliseconds(begin)


def _known(app: LocalAgentApp) -> bool:
    return any(each.offers for each in app.chat.query(CompletionList))


def _looking(app: LocalAgentApp) -> bool:
    return any(each.option_count > len(each.offers) for each in app.chat.query(CompletionList))


def _found(index: FileIndex, query: str) -> float:
    begin = time.process_time()
    index.find(query)
    return _milliseconds(begin)


def _milliseconds(begin: float) -> float:
    return (time.process_time() - begin) * 1e3 / slowness()


async def _until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "the screen did not get there"
        await asyncio.sleep(0.002)
