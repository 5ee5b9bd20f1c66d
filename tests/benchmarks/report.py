"""One row of what was measured and the budget it is held to; and the table of the README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

README = Path(__file__).parents[2] / "README.md"
MARKERS = ("<!-- benchmarks -->\n", "<!-- end of benchmarks -->\n")


@dataclass(frozen=True, slots=True)
class Row:
    """A measured value; smaller is better. ``unit`` is ``x`` for ratios.

    What is ``counted`` comes out the same on every machine; what is ``timed`` varies from run to run.
    Rows that differ in their ``case`` alone are one line of the table.
    """

    what: str
    value: float
    budget: float
    unit: str
    detail: str = ""
    kind: Literal["counted", "timed"] = "timed"
    case: str = ""

    @property
    def name(self) -> str:
        return f"{self.what} ({self.case})" if self.case else self.what

    @property
    def comparable(self) -> bool:
        """Whether it does not depend on how fast the machine is."""
        return self.unit == "x" or self.kind == "counted"

    @property
    def used(self) -> float:
        """The share of the budget, over 1 when it is exceeded."""
        return self.value / self.budget if self.budget else self.value

    @property
    def over(self) -> bool:
        return self.value > self.budget

    def __str__(self) -> str:
        state = "over" if self.over else "ok"
        detail = f": {self.detail}" if self.detail else ""
        return f"{state:>4} {self.value:8.2f} of {self.budget:6.2f} {self.unit:<5} {self.name}{detail}"


def keep_in_readme(rows: Iterable[Row], beside: str) -> None:
    """Replace what stands between the markers."""
    begin, end = MARKERS
    before, _, rest = README.read_text("utf-8").partition(begin)
    after = rest.partition(end)[2]
    README.write_text(f"{before}{begin}{_table(rows, beside)}{end}{after}", "utf-8")


def _table(rows: Iterable[Row], beside: str) -> str:
    """One line for each thing, with the case that comes nearest to its budget."""
    alike: dict[str, list[Row]] = {}
    for row in rows:
        alike.setdefault(row.what, []).append(row)
    lines = ["", "| what | budget | measured |", "|---|---|---|", *map(_line, alike.values())]
    return "\n".join([*lines, "", f"On a machine with this: {beside}.", "", ""])


def _line(cases: Sequence[Row]) -> str:
    row = max(cases, key=lambda each: each.used)
    over = ", over" if row.over else ""
    cells = (row.what, _shown(row.budget, row.unit), _shown(row.value, row.unit) + over + _of(row, cases))
    return f"| {' | '.join(cells)} |"


def _of(row: Row, cases: Sequence[Row]) -> str:
    if len(cases) == 1:
        return ""
    if all(each.used == row.used for each in cases):
        return f" (each of {len(cases)})"
    return f" ({row.case}, the most of {len(cases)})"


def _shown(value: float, unit: str) -> str:
    number = f"{value:,.0f}" if value >= 1000 else f"{round(value, 2):.3g}"
    return f"{number} {unit}".strip()
