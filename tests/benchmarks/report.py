"""One row of the table: what was measured and the budget it is held to; and the table of the README."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

TOLERANCE = 2.0
"""A value of more than this many budgets is a failure; one between is only marked."""
README = Path(__file__).parents[2] / "README.md"
MARKERS = ("<!-- benchmarks -->\n", "<!-- end of benchmarks -->\n")


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

    @property
    def used(self) -> float:
        """The share of the budget, over 1 when it is exceeded."""
        return self.value / self.budget if self.budget else self.value

    @property
    def state(self) -> str:
        return "FAILED" if self.failed else "over" if self.value > self.budget else "ok"

    def __str__(self) -> str:
        found, budget = f"{self.value:8.2f} {self.unit:<2}", f"budget {self.budget:7.2f}"
        return f"{self.what:<44} {found} {budget}  {self.state:<7}{self.detail}"


def keep_in_readme(found: Mapping[str, Sequence[Row]], beside: str) -> None:
    """Replace what stands between the markers."""
    begin, end = MARKERS
    before, _, rest = README.read_text("utf-8").partition(begin)
    after = rest.partition(end)[2]
    README.write_text(f"{before}{begin}{_table(found, beside)}{end}{after}", "utf-8")


def _table(found: Mapping[str, Sequence[Row]], beside: str) -> str:
    """Of every benchmark what comes nearest to its budget, counted and timed apart."""
    lines = ["", "| nearest to its budget | budget | measured | |", "|---|---|---|---|"]
    for rows in found.values():
        for kind in ("counted", "timed"):
            alike = [row for row in rows if row.kind == kind]
            if alike:
                row = max(alike, key=lambda row: row.used)
                cells = (row.what, _shown(row.budget, row), _shown(row.value, row), row.state)
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, "", f"On a machine with this: {beside}.", "", ""])


def _shown(value: float, row: Row) -> str:
    return f"{value:.3g} {row.unit}".strip()
