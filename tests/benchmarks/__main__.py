"""Measures what has a budget: ``python -m tests.benchmarks [--write] [--accept] [NAME ...]``.

A name is that of a module beside this one that has ``measure``. ``--write`` keeps the table of a full run in
the README, ``--accept`` keeps its ratios as those that later runs are compared with. Exits with 1 when a
value is more than twice its budget, or a ratio much worse than the accepted one.
"""

from __future__ import annotations

import argparse
import pkgutil
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.benchmarks import accepted
from tests.benchmarks.calibration import calibration
from tests.benchmarks.report import Row, keep_in_readme

_FOLDER = str(Path(__file__).parent)


def names() -> list[str]:
    """Every benchmark, in the order of the alphabet."""
    beside = (each.name for each in pkgutil.iter_modules([_FOLDER]))
    found = [name for name in beside if not name.startswith(("_", "test_"))]
    return sorted(name for name in found if hasattr(import_module(f"tests.benchmarks.{name}"), "measure"))


def measured(name: str) -> Iterator[Row]:
    """The rows of one benchmark."""
    yield from import_module(f"tests.benchmarks.{name}").measure()


def main() -> int:
    """Run the chosen benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--accept", action="store_true")
    chosen = parser.parse_args()
    out = sys.stdout
    beside = calibration()
    out.write(f"{beside}\n")
    found: dict[str, list[Row]] = {}
    for name in chosen.names or names():
        found[name] = []
        for row in measured(name):
            out.write(f"{row}\n")
            out.flush()
            found[name].append(row)
    rows = [row for each in found.values() for row in each]
    worse = accepted.worse(rows)
    out.writelines(f"{line}\n" for line in worse)
    if chosen.write:
        keep_in_readme(found, beside)
    if chosen.accept:
        accepted.keep(rows)
    return 1 if worse or any(row.failed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
