"""What a turn writes, and whether that grows with the session: question, saved reply, end, and the rest."""

from __future__ import annotations

from collections.abc import Iterator

from tests.benchmarks.filled import AGAINST, LONG, MIDDLE, SHORT, step_costs
from tests.benchmarks.report import Row
from tests.support.sql_meter import PAGE_BYTES

STEPS = {
    "begin": "store a question",
    "keep": "save half a reply",
    "settle": "settle a turn",
    "fork": "fork",
    "rename": "rename",
}
APART = {"settle": 1}
"""Pages more than in a short session.

A turn that ends moves from the running ones to the settled ones in the index of the session's turns. Up to
some hundred turns both places lie in the one leaf that the index consists of, later in two. That is the
same for any longer session: the depth of a tree plays no part, as a commit writes leaves.
"""


def measure() -> Iterator[Row]:
    """All of it is counted."""
    short, middle, long = (step_costs(entries) for entries in (SHORT, MIDDLE, LONG))
    for step, case in STEPS.items():
        few, more, many = (round(costs[step].wal_bytes / PAGE_BYTES) for costs in (short, middle, long))
        allowed = APART.get(step, 0)
        detail = f"{many} against {few}"
        yield Row(
            f"pages more that a commit writes, {AGAINST}", many - few, allowed, "", detail, "counted", case
        )
        against = f"{LONG:,} against {MIDDLE:,} entries"
        detail = f"{many} against {more}"
        yield Row(f"pages more that a commit writes, {against}", many - more, 0, "", detail, "counted", case)
    for step, case in STEPS.items():
        few_cost, cost = short[step], long[step]
        ratio, detail = cost.count / few_cost.count, f"{cost.count} against {few_cost.count}"
        yield Row(f"statements of a commit, {AGAINST}", ratio, 1, "x", detail, "counted", case)
        ratio, detail = cost.steps / few_cost.steps, f"{cost.steps} against {few_cost.steps} steps of SQLite"
        yield Row(f"rows read by a commit, {AGAINST}", ratio, 1, "x", detail, "counted", case)
    waited = max(cost.commits for cost in long.values())
    yield Row("commits that a step waits for", waited, 1, "", "the most of any", "counted")
