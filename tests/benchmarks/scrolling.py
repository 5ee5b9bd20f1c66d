"""What it costs to hold PageUp from the end of a long session to its start."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from textual.events import Key

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.store.store import Store
from local_agent.tui.app import LocalAgentApp
from tests.benchmarks.loop_watch import LoopWatch
from tests.benchmarks.memory import NOBODY_THERE, megabytes
from tests.benchmarks.report import Row
from tests.runtime.opened import settings_for
from tests.store.samples import VERSION, fill, talk
from tests.tui.pilots import until

ENTRIES = 10_000
STRETCH = 100.0
GROWTH = 30.0
WIDGETS = 1300
LIMIT = 600


def measure() -> Iterator[Row]:
    """Ten thousand entries, as they are in conversations about code."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        paths = Paths(home=folder / "home", cache=folder / "cache")
        (folder / "project").mkdir()
        handle = asyncio.run(_session(paths, folder / "project"))
        seen = asyncio.run(_scroll(paths, folder / "project", handle))
    session = f"PageUp held through {ENTRIES:,} entries"
    longest = seen.watch.longest()
    silent = max(seen.watch.turns, key=lambda turn: turn.silent)
    gap = f"longest silence {silent.silent * 1e3:.0f} ms, {silent.delayed * 1e3:.0f} ms of it no processor"
    yield Row(f"{session}: the loop busy at a stretch", longest.busy * 1e3, STRETCH, "ms", gap)
    pages = f"{seen.keys:,} pages in {seen.seconds:.0f} s"
    yield Row(f"{session}: memory growth", seen.grown, GROWTH, "MB", pages)
    yield Row(f"{session}: widgets at most", seen.widgets, WIDGETS, "")


class Seen(NamedTuple):
    """What one way upwards showed."""

    watch: LoopWatch
    keys: int
    seconds: float
    grown: float
    """Megabytes, at the most."""
    widgets: int
    """Mounted in the transcript, at the most."""


async def _session(paths: Paths, root: Path) -> str:
    store = Store.open(paths.database, program_version=VERSION)
    held = await talk(store, "The first question?", root=str(root))
    await store.close()
    fill(paths.database, held.info.id, ENTRIES, says=_says)
    return held.info.handle


def _says(place: int) -> str:
    if place % 2:
        return f"Question {place}: why is `restore_{place}` slow?"
    if place % 10:
        return f"Because of **step {place}**: it copies all files.\n\n- first `a{place}`\n- then `b{place}`"
    code = "\n".join(f"    total += weigh(items[{line}], scale={place})" for line in range(20))
    return f"Like this:\n\n```python\ndef weigh_{place}(items):\n{code}\n```\n\nIt is called *once* a day."


async def _scroll(paths: Paths, root: Path, handle: str) -> Seen:
    app = LocalAgentApp(LaunchOptions(root, resume=handle), settings_for(NOBODY_THERE), paths)
    async with app.run_test(size=(80, 24)) as pilot:
        transcript = app.chat.transcript
        await until(pilot, lambda: app.chat.conversation is not None and len(transcript.window.items) > 2, 60)
        await until(pilot, lambda: transcript.max_scroll_y > 0 and transcript.at_end, 60)
        usual, begin = megabytes(), time.monotonic()
        watch = LoopWatch(lambda: -transcript.window.items[0].entry_id)
        watching = asyncio.create_task(watch.run())
        keys = widgets = 0
        grown = 0.0
        while transcript.window.more_above or transcript.scroll_y > 0:
            assert time.monotonic() < begin + LIMIT, "the start was not reached"
            app.post_message(Key("pageup", None))
            drawn = asyncio.Event()
            app.chat.call_after_refresh(drawn.set)
            await drawn.wait()
            keys += 1
            widgets = max(widgets, len(transcript.children))
            if keys % 20 == 0:
                grown = max(grown, megabytes() - usual)
        seconds = time.monotonic() - begin
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        await pilot.press("ctrl+q")
    return Seen(watch, keys, seconds, grown, widgets)
