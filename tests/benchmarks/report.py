"""One row of the table: what was measured, its value, and the budget it is held to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TOLERANCE = 2.0
"""A value of more than this many budgets is a failure; one between is only marked."""


@dataclass(frozen=True)
class Row:
    """A measured value; smaller is better. ``unit`` is ``x`` for ratios.

    What is ``counted`` comes out the same on every machine; what is ``timed`` varies from run to run.
    """

    what: str
    value: float
    budget: float
    unit: str
    detail: str = ""
    kind: Literal["counted", "timed"] = "timed"

    @property
    def failed(self) -> bool:
        return self.value > self.budget * TOLERANCE

    def __str__(self) -> str:
        state = "FAILED" if self.failed else "over" if self.value > self.budget else "ok"
        found, budget = f"{self.value:8.2f} {self.unit:<2}", f"budget {self.budget:7.2f}"
        return f"{self.what:<44} {found} {budget}  {state:<7}{self.detail}"
