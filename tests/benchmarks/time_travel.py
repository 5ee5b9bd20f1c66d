"""What it costs to go back and forth in a session, and whether that grows with it."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
import time
from collections.abc import Awaitable, Iterator
from pathlib import Path

from local_agent.domain.moves import Scope
from local_agent.store.store import Store
from tests.benchmarks.filled import AGAINST, LONG, SHORT, Filled, filled, step_costs
from tests.benchmarks.report import Row
from tests.support.sql_meter import PAGE_BYTES

STEPS = {
    "checkpoint": "checkpoint",
    "undo": "undo",
    "redo": "redo",
    "restore": "restore",
    "switch": "switch",
    "compact": "compact",
    "fork from an entry": "fork from an entry",
}
READS_THE_PATH = "fork from an entry"
TINY, TEN_THOUSAND = 10, 10_000
REPEATS = 40


def measure() -> Iterator[Row]:
    """Counts first, then times."""
    short, long = step_costs(SHORT), step_costs(LONG)
    for step, case in STEPS.items():
        few, many = short[step], long[step]
        ratio, detail = many.count / few.count, f"{many.count} against {few.count}"
        yield Row(f"statements of a move, {AGAINST}", ratio, 1, "x", detail, "counted", case)
        pages = round(many.wal_bytes / PAGE_BYTES), round(few.wal_bytes / PAGE_BYTES)
        detail = f"{pages[0]} against {pages[1]}"
        yield Row(f"pages written by a move, {AGAINST}", pages[0] / pages[1], 1, "x", detail, "counted", case)
        if step != READS_THE_PATH:
            ratio, detail = many.steps / few.steps, f"{many.steps} against {few.steps} steps of SQLite"
            yield Row(f"rows read by a move, {AGAINST}", ratio, 1, "x", detail, "counted", case)
    tiny, large = (asyncio.run(_there_and_back(filled(entries))) for entries in (TINY, TEN_THOUSAND))
    for case, seconds in large.items():
        detail = f"{seconds * 1e3:.1f} ms"
        against = f"{TEN_THOUSAND:,} against {TINY} entries"
        yield Row(f"work to go back, {against}", seconds / tiny[case], 1.5, "x", detail, case=case)


async def _there_and_back(database: Filled) -> dict[str, float]:
    """Median processor seconds of a checkpoint, and of an undo with the look before it."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(shutil.copy(database.path, folder)), program_version="0")
        try:
            held = await store.hold(database.handle)
            key = held.info.id
            times: dict[str, list[float]] = {"checkpoint": [], "undo": []}

            async def take(name: str, work: Awaitable[object]) -> None:
                begin = time.process_time()
                await work
                times[name].append(time.process_time() - begin)

            async def undo() -> None:
                await held.travel(await store.undo_landing(key), Scope.CONVERSATION, None)

            for _ in range(REPEATS):
                await take("checkpoint", held.make_checkpoint("here"))
                await take("undo", undo())
                await held.travel(await store.redo_landing(key), Scope.CONVERSATION, None)
        finally:
            await store.close()
    return {name: sorted(found)[len(found) // 2] for name, found in times.items()}
