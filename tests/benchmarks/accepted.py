"""The ratios of the last accepted run, and what has become worse since."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from pathlib import Path

from tests.benchmarks.report import Row

FILE = Path(__file__).with_name("accepted.toml")
SLACK = {"counted": 1.05, "timed": 1.5}
"""By how much a ratio may exceed the accepted one: a count hardly, a time by what a busy machine does."""


def worse(rows: Iterable[Row]) -> list[str]:
    """One line for each ratio that is worse than accepted; what nobody accepted yet is not compared."""
    known = tomllib.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return [
        f"WORSE: {row.what}: {row.value:.2f} {row.unit}, accepted was {known[row.what]:.2f}"
        for row in _ratios(rows)
        if row.what in known and row.value > known[row.what] * SLACK[row.kind]
    ]


def keep(rows: Iterable[Row]) -> None:
    """These are accepted now; the others stay as they are."""
    known = tomllib.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    known |= {row.what: round(row.value, 2) for row in _ratios(rows)}
    FILE.write_text("".join(f'"{what}" = {value}\n' for what, value in sorted(known.items())), "utf-8")


def _ratios(rows: Iterable[Row]) -> Iterable[Row]:
    """What does not depend on how fast a machine is."""
    return (row for row in rows if row.unit == "x" or row.kind == "counted")
