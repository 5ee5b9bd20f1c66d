"""What a turn writes, and whether that grows with the session: question, saved reply, end, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.filled import LABEL, LONG, SHORT, step_costs
from tests.benchmarks.report import Row

STEPS = {
    "begin": "store a question",
    "keep": "save half a reply",
    "settle": "settle a turn",
    "fork": "fork",
    "rename": "rename",
}
PAGES = 1.1
"""One page more: what an index says of a turn before and after its end no longer lies on the same one."""


def measure() -> Iterator[Row]:
    """All of it is counted."""
    short, long = step_costs(SHORT), step_costs(LONG)
    for step, what in STEPS.items():
        few, many = short[step], long[step]
        detail = f"{many.count} against {few.count}, {LABEL}"
        yield Row(f"{what}: statements", many.count / few.count, 1.0, "x", detail, "counted")
        detail = f"{many.steps} against {few.steps} steps of SQLite"
        yield Row(f"{what}: rows read", many.steps / few.steps, 1.0, "x", detail, "counted")
        detail = f"{many.wal_bytes / 1e3:.0f} kB against {few.wal_bytes / 1e3:.0f} kB"
        yield Row(f"{what}: bytes written", many.wal_bytes / few.wal_bytes, PAGES, "x", detail, "counted")
    waited = max(cost.commits for cost in long.values())
    yield Row("commits that a step waits for", waited, 1, "", "the most of any", "counted")
