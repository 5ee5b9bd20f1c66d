"""What a session's length costs who opens it: the painted tail, older parts, and the next request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from local_agent.store.store import Store
from tests.benchmarks.filled import AGAINST, LONG, MIDDLE, SHORT, Filled, filled, step_costs
from tests.benchmarks.report import Row

TAIL = 40
REPEATS = 15
STEPS = {"latest": "find the newest", "hold": "take it up", "tail": "read its tail", "before": "page up"}


def measure() -> Iterator[Row]:
    """Counts first, then times: medians of repeated reads."""
    short, long = step_costs(SHORT), step_costs(LONG)
    for step, case in STEPS.items():
        few, many = short[step], long[step]
        ratio, detail = many.count / few.count, f"{many.count} against {few.count}"
        yield Row(f"statements to open a session, {AGAINST}", ratio, 1, "x", detail, "counted", case)
        ratio, detail = many.steps / few.steps, f"{many.steps} against {few.steps} steps of SQLite"
        yield Row(f"rows read to open a session, {AGAINST}", ratio, 1, "x", detail, "counted", case)
    few_seconds, many_seconds = (asyncio.run(_opening(filled(entries))) for entries in (SHORT, LONG))
    detail = f"{many_seconds * 1e3:.1f} ms"
    yield Row(f"work to open a session, {AGAINST}", many_seconds / few_seconds, 1.5, "x", detail)
    few_seconds, many_seconds = (asyncio.run(_an_entry(filled(entries))) for entries in (MIDDLE, LONG))
    detail = f"{many_seconds * 1e6:.0f} µs an entry"
    what = f"work to read an entry for a request, {LONG:,} against {MIDDLE:,} entries"
    yield Row(what, many_seconds / few_seconds, 1.5, "x", detail)


async def _opening(database: Filled) -> float:
    """Median processor seconds of taking the session up and reading its last entries."""
    store = Store.open(database.path, program_version="0")
    times = []
    try:
        for _ in range(REPEATS):
            begin = time.process_time()
            held = await store.hold(database.handle)
            found = await store.tail(held.info.id, TAIL)
            times.append(time.process_time() - begin)
            assert len(found.entries) == TAIL
            await held.release()
    finally:
        await store.close()
    return sorted(times)[len(times) // 2]


async def _an_entry(database: Filled) -> float:
    """Processor seconds for each entry of the path that the next request is built from."""
    store = Store.open(database.path, program_version="0")
    try:
        head = (await store.find(database.handle)).head
        assert head is not None
        times = []
        for _ in range(3):
            begin = time.process_time()
            path = await store.model_path(head)
            times.append((time.process_time() - begin) / len(path))
        return min(times)
    finally:
        await store.close()
