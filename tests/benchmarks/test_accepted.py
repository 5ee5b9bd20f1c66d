"""What a run of the benchmarks fails for, and what it lets pass."""

from __future__ import annotations

from typing import Literal

import pytest

from tests.benchmarks.accepted import complaint
from tests.benchmarks.report import Row

KNOWN = {"a value": 1.0}


@pytest.mark.parametrize(
    ("kind", "value", "budget", "unit", "said"),
    [
        ("timed", 1.9, 2.0, "x", ""),
        ("timed", 1.4, 1.2, "x", ""),
        ("timed", 1.6, 1.2, "x", "WORSE"),
        ("timed", 2.5, 1.2, "x", "FAILED"),
        ("timed", 55.0, 30.0, "ms", ""),
        ("timed", 61.0, 30.0, "ms", "FAILED"),
        ("counted", 1.04, 2.0, "x", ""),
        ("counted", 1.06, 2.0, "x", "WORSE"),
        ("counted", 1.0, 0.0, "", "FAILED"),
    ],
)
def test_what_is_wrong_with_a_value(
    kind: Literal["counted", "timed"], value: float, budget: float, unit: str, said: str
) -> None:
    assert complaint(Row("a value", value, budget, unit, kind=kind), KNOWN).partition(",")[0] == said


def test_what_nobody_accepted_has_its_budget_alone() -> None:
    assert not complaint(Row("another", 1.9, 1.0, "x", kind="counted"), KNOWN)
