"""No budget is exceeded twice over, and no ratio is much worse than the accepted one."""

from __future__ import annotations

import pytest

from tests.benchmarks import accepted
from tests.benchmarks.__main__ import measured, names

# Half an hour of streaming would be more than a test may take: it has a run of its own.
LONG = {"streaming"}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in names() if name not in LONG])
def test_budgets(name: str) -> None:
    rows = list(measured(name))
    assert rows
    assert not [str(row) for row in rows if row.failed]
    worse = accepted.worse(rows)
    assert not worse or not (worse := accepted.worse(measured(name))), f"twice in a row: {worse}"
