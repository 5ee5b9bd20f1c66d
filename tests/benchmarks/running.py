"""Runs benchmarks, each in a process of its own, and prints what they find as they go."""

from __future__ import annotations

import pkgutil
import sys
import time
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path

from tests.benchmarks.accepted import complaint
from tests.benchmarks.report import Row

_FOLDER = str(Path(__file__).parent)


def names() -> list[str]:
    """Every benchmark, in the order of the alphabet."""
    beside = sorted(each.name for each in pkgutil.iter_modules([_FOLDER]))
    found = [name for name in beside if not name.startswith(("_", "test_"))]
    return [name for name in found if hasattr(import_module(f"tests.benchmarks.{name}"), "measure")]


def measured(name: str) -> list[Row]:
    """The rows of one benchmark, each printed as it comes."""
    rows: list[Row] = []
    for row in import_module(f"tests.benchmarks.{name}").measure():
        say(str(row))
        rows.append(row)
    return rows


def judged(name: str, known: Mapping[str, float]) -> list[Row]:
    """The rows of one benchmark; when only times are wrong, the better ones of two measurements."""
    rows = _alone(name)
    wrong = [row for row in rows if complaint(row, known)]
    if not wrong or any(row.kind == "counted" for row in wrong):
        return rows
    say(f"{name}: once more, because of {', '.join(row.name for row in wrong)}")
    again = {row.name: row for row in _alone(name)}
    return [min(row, again.get(row.name, row), key=lambda each: each.value) for row in rows]


def _alone(name: str) -> list[Row]:
    """Measure in a new process: what another benchmark left in memory would count."""
    begin = time.monotonic()
    say(f"\n{name}")
    with ProcessPoolExecutor(1, get_context("spawn")) as process:
        rows = process.submit(measured, name).result()
    say(f"{time.monotonic() - begin:.0f} s")
    return rows


def say(line: str) -> None:
    """Print at once, also into a pipe."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
