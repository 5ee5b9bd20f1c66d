"""How much a long session makes the program grow: ten thousand entries of 20 KB each, opened and read."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.store.store import Store
from local_agent.tui.app import LocalAgentApp
from tests.benchmarks.report import Row
from tests.runtime.opened import settings_for
from tests.store.samples import VERSION, fill, talk
from tests.tui.pilots import until

ENTRIES, SIZE = 10_000, 20_000
TEXTS = 500
PARTS = 40
"""How many parts of the session are read upwards."""
BUDGET = 30.0
LIMIT = 60
NOBODY_THERE = "http://127.0.0.1:9"
_SENTENCE = "Sentence {0} of a **long** answer is about as long as sentences usually are. "


def measure() -> Iterator[Row]:
    """Memory that no file backs, against what the program uses with a session of two short entries open."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = Paths(home=folder / "home", cache=folder / "cache")
        (folder / "project").mkdir()
        short, long = asyncio.run(_sessions(paths, folder / "project"))
        opened, most, entries = asyncio.run(_growth(paths, folder / "project", short, long))
    session = f"memory growth, {ENTRIES:,} entries of {SIZE // 1000} KB"
    yield Row(f"{session}: opened", opened, BUDGET, "MB")
    yield Row(f"{session}: read upwards", most, BUDGET, "MB", f"{entries} entries")


async def _sessions(paths: Paths, root: Path) -> tuple[str, str]:
    """Handles of a session of one turn, and of one of ``ENTRIES`` more."""
    store = Store.open(paths.database, program_version=VERSION)
    short, long = [await talk(store, "What is a tree?", root=str(root)) for _ in range(2)]
    await store.close()
    texts = [_text(number) for number in range(TEXTS)]
    fill(paths.database, long.info.id, ENTRIES, says=lambda place: texts[place % TEXTS])
    return short.info.handle, long.info.handle


def _text(number: int) -> str:
    sentences = [_SENTENCE.format(number * 1000 + place) for place in range(SIZE // len(_SENTENCE))]
    return "\n\n".join("".join(sentences[start : start + 6]) for start in range(0, len(sentences), 6))


async def _growth(paths: Paths, root: Path, short: str, long: str) -> tuple[float, float, int]:
    """Megabytes once opened, the most while reading, and how many entries were passed."""
    app = LocalAgentApp(LaunchOptions(root, resume=short), settings_for(NOBODY_THERE), paths)
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.chat.transcript
        await until(pilot, lambda: app.chat.conversation is not None and bool(transcript.window.items))
        usual = megabytes()
        await app.chat.open_session(long)
        await until(pilot, lambda: len(transcript.window.items) > 2 and transcript.at_end, LIMIT)
        opened = megabytes() - usual
        newest = transcript.window.items[-1].entry_id
        grown = []
        for _ in range(PARTS):
            first = transcript.window.items[0].entry_id

            def older(first: int = first) -> bool:
                transcript.scroll_to(y=0, animate=False, immediate=True)
                return transcript.window.items[0].entry_id < first

            await until(pilot, older, LIMIT)
            grown.append(megabytes() - usual)
        passed = newest - transcript.window.items[0].entry_id
        await pilot.press("ctrl+q")
    return opened, max(grown), passed


def megabytes() -> float:
    """What this process holds in memory that no file backs."""
    found = re.search(r"^RssAnon:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found, "the kernel does not tell anonymous memory"
    return int(found[1]) / 1024
