"""No step costs more in a long session than in a short one, and none reads what it need not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, Engine, event

from local_agent.store.engine import driver_of
from tests.store.steps import fill_session, measure_steps
from tests.support.sql_meter import PAGE_BYTES

SHORT, LONG = 100, 3_000
READS_THE_PATH = {"fork from an entry"}
"""Its turns are counted, on an index; what is written is the same."""
SPLIT_PAGES = 4
"""Pages more that a commit writes where leaves of an index are full."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("costs")


async def test_a_long_session_costs_what_a_short_one_does(folder: Path) -> None:
    costs = []
    for length in (SHORT, LONG):
        path = folder / f"{length}" / "local-agent.db"
        costs.append(await measure_steps(path, await fill_session(path, length)))
    short, long = costs
    for step in short:
        few, many = short[step], long[step]
        assert many.count == few.count, step
        assert step in READS_THE_PATH or many.steps <= few.steps * 1.02, step
        assert many.wal_bytes <= few.wal_bytes + SPLIT_PAGES * PAGE_BYTES, step
        assert many.commits <= 1, f"{step} waits for {many.commits} commits"


async def test_nothing_is_scanned_or_sorted(folder: Path) -> None:
    plans: dict[str, list[str]] = {}

    def explain(connection: Connection, _cursor: object, statement: str, parameters: Any, *_: object) -> None:
        if statement.lstrip().startswith(("SELECT", "WITH", "UPDATE", "DELETE")) and statement not in plans:
            # On the driver's connection, past this listener.
            rows = driver_of(connection).execute(f"EXPLAIN QUERY PLAN {statement}", parameters)
            plans[statement] = [row[3] for row in rows]

    path = folder / "plans" / "local-agent.db"
    handle = await fill_session(path, SHORT)
    event.listen(Engine, "before_cursor_execute", explain)
    try:
        await measure_steps(path, handle)
    finally:
        event.remove(Engine, "before_cursor_execute", explain)
    assert len(plans) > 20
    slow = {
        statement: line
        for statement, lines in plans.items()
        for line in lines
        if (line.startswith("SCAN") and line not in ("SCAN path", "SCAN lineage")) or "TEMP B-TREE" in line
    }
    assert not slow
