"""What a session's length costs who opens it: the painted tail and the next turn, short against long."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import Engine, event

from local_agent.domain.entries import EntryStatus, TurnStatus, Usage
from local_agent.domain.ports import Opening, Outcome, Reply
from local_agent.domain.sessions import NewSession
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.benchmarks.report import Row

SHORT, LONG = 100, 10_000
TAIL = 40
REPEATS = 30
_REPLY = "A paragraph of an ordinary answer, as long as they are. " * 20


class Statements:
    """Counts the SQL statements of every engine of this process."""

    def __init__(self) -> None:
        self.count = 0
        event.listen(Engine, "before_cursor_execute", self._seen)

    def _seen(self, *_: object) -> None:
        self.count += 1


def measure() -> Iterator[Row]:
    """Two sessions in one database; times are medians of repeated reads."""
    with tempfile.TemporaryDirectory() as folder:
        yield from asyncio.run(_measure(Path(folder) / "local-agent.db"))


async def _measure(database: Path) -> list[Row]:
    statements = Statements()
    store = Store.open(database, program_version="0")
    try:
        cost = {length: await _cost(store, length, statements) for length in (SHORT, LONG)}
    finally:
        await store.close()
    (few, short), (many, long) = cost[SHORT], cost[LONG]
    label = f"{LONG} against {SHORT} entries"
    return [
        Row("open and read the tail: statements", many / few, 1.0, "x", f"{many} against {few}, {label}"),
        Row("open and read the tail: time", long / short, 1.5, "x", f"{long * 1e3:.1f} ms, {label}"),
    ]


async def _cost(store: Store, length: int, statements: Statements) -> tuple[int, float]:
    """Statements and median seconds of taking a session up and reading its last entries."""
    handle = await _fill(store, length)
    times = []
    for _ in range(REPEATS):
        before, begin = statements.count, time.perf_counter()
        held = await store.hold(handle)
        found = await store.tail(held.info.id, TAIL)
        times.append(time.perf_counter() - begin)
        counted = statements.count - before
        assert len(found.entries) == TAIL
        await held.release()
    return counted, sorted(times)[len(times) // 2]


async def _fill(store: Store, length: int) -> str:
    """A session of ``length`` entries, half of them questions, written as the program writes them."""
    new = NewSession("/benchmark", f"{length} entries", "ollama", "http://127.0.0.1:11434", "m")
    held, turn = await store.create(new, _opening(None))
    await held.settle(turn, _OUTCOME)
    for _ in range(length // 2 - 1):
        await _turn(held)
    await held.release()
    return held.info.handle


async def _turn(held: HeldSession) -> None:
    turn = await held.begin(_opening(held.info.head))
    await held.settle(turn, _OUTCOME)


def _opening(parent: int | None) -> Opening:
    return Opening("A question of ordinary length, about one line of text?", parent, "m")


_OUTCOME = Outcome(TurnStatus.SETTLED, EntryStatus.SETTLED, "stop", Reply(_REPLY), Usage())
