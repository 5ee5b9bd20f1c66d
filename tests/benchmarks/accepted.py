"""What a run is judged by: its budgets, and the values of the last accepted run."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.benchmarks.report import Row

FILE = Path(__file__).with_name("accepted.toml")
BUDGETS = 2.0
"""A value of more than this many budgets is a failure whatever was accepted."""
SLACK = {"counted": 1.05, "timed": 1.5}
"""By how much a value may exceed the accepted one: a count hardly, a time by what a busy machine does."""


def load() -> dict[str, float]:
    """The accepted value of each row that does not depend on the machine, by the row's name."""
    return tomllib.loads(FILE.read_text("utf-8")) if FILE.exists() else {}


def keep(rows: Iterable[Row], others: Mapping[str, float]) -> None:
    """Accept these rows, and keep ``others``."""
    values = {**others, **{row.name: round(row.value, 2) for row in rows if row.comparable}}
    FILE.write_text("".join(f'"{name}" = {value}\n' for name, value in sorted(values.items())), "utf-8")


def complaint(row: Row, known: Mapping[str, float]) -> str:
    """What is wrong with a row, in one line; empty when nothing is.

    A time within its budget is never wrong. What nobody accepted yet is not compared.
    """
    found = f"{row.value:.2f} {row.unit}, {row.name}"
    if row.value > row.budget * BUDGETS:
        return f"FAILED, over {BUDGETS:g} budgets of {row.budget:g}: {found}"
    accepted = known.get(row.name)
    if accepted is None or not row.comparable or (row.kind == "timed" and not row.over):
        return ""
    return f"WORSE, accepted was {accepted}: {found}" if row.value > accepted * SLACK[row.kind] else ""
