"""What a session's length costs who opens it: the painted tail, older parts, and the next request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

from local_agent.store.store import Store
from tests.benchmarks.filled import LABEL, LONG, SHORT, Filled, filled, step_costs
from tests.benchmarks.report import Row

TAIL = 40
REPEATS = 15
STEPS = {"latest": "find the newest", "hold": "take it up", "tail": "read its tail", "before": "page up"}


def measure() -> Iterator[Row]:
    """Counts first, then times: medians of repeated reads."""
    short, long = step_costs(SHORT), step_costs(LONG)
    for step, what in STEPS.items():
        few, many = short[step], long[step]
        detail = f"{many.count} against {few.count}, {LABEL}"
        yield Row(f"{what}: statements", many.count / few.count, 1.0, "x", detail, "counted")
        detail = f"{many.steps} against {few.steps} steps of SQLite"
        yield Row(f"{what}: rows read", many.steps / few.steps, 1.0, "x", detail, "counted")
    few_seconds, many_seconds = (asyncio.run(_opening(filled(entries))) for entries in (SHORT, LONG))
    detail = f"{many_seconds * 1e3:.1f} ms, {LABEL}"
    yield Row("take it up and read its tail: work", many_seconds / few_seconds, 1.5, "x", detail)
    few_seconds, many_seconds = (asyncio.run(_an_entry(filled(entries))) for entries in (SHORT * 10, LONG))
    detail = f"{many_seconds * 1e6:.0f} µs an entry, {LONG} against {SHORT * 10}"
    yield Row("read an entry for the next request", many_seconds / few_seconds, 1.5, "x", detail)


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
