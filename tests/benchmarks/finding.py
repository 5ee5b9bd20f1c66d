"""How long words are looked for in all of a long session, until the first and until the last is found."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from local_agent.domain.finding import Sought
from local_agent.store.store import Store
from tests.benchmarks.report import Row
from tests.store.samples import VERSION, fill, talk

ENTRIES = 10_000
SENTENCE = "Sentence {0} of a long answer is about as long as sentences usually are. "
SENTENCES = 27
FIRST, ALL = 30.0, 100.0
TIMES = 5


def measure() -> Iterator[Row]:
    """Ten thousand entries of 2 kB; the best of some times, with the pages of the file in memory."""
    for name, end in {"ASCII": "", "other letters": "é"}.items():
        first, everything, count = asyncio.run(_best(partial(_says, end=end)))
        session = f"find in {ENTRIES:,} entries of 2 kB"
        yield Row(f"{session}: the first", first * 1e3, FIRST, "ms", case=name)
        # Both cases of a letter are found by a pattern there, and hidden characters are looked for.
        budget = ALL if name == "ASCII" else 5 * ALL
        yield Row(f"{session}: all", everything * 1e3, budget, "ms", f"{count} found", case=name)


def _says(place: int, end: str) -> str:
    return SENTENCE.format(place) * SENTENCES + ("a zebra" if place % 100 == 0 else "") + end


async def _best(says: Callable[[int], str]) -> tuple[float, float, int]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home" / "local-agent.db"
        store = Store.open(path, program_version=VERSION)
        held = await talk(store, "The first question?")
        fill(path, held.info.id, ENTRIES, says=says)
        leaf = await store.head(held.info.id)
        assert leaf is not None
        found = [await _look(store, leaf) for _ in range(TIMES)]
        await store.close()
    return min(each[0] for each in found), min(each[1] for each in found), found[0][2]


async def _look(store: Store, leaf: int | None) -> tuple[float, float, int]:
    """Seconds to the first find and to the last part, and how many there were."""
    begin, first, count = time.perf_counter(), 0.0, 0
    while leaf is not None:
        part = await store.look_through(leaf, Sought("zebra"))
        count += sum(found.times for found in part.found)
        first = first or (time.perf_counter() - begin if part.found else 0.0)
        leaf = part.rest
    return first, time.perf_counter() - begin, count
