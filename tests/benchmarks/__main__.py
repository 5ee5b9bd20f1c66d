"""Measures what has a budget: ``python -m tests.benchmarks [--minute] [--write] [--accept] [NAME ...]``.

A name is that of a module beside this one that has ``measure``. ``--write`` keeps the table of a full run in
the README, ``--accept`` keeps the values that later runs are compared with; with ``--minute`` each reply is
streamed for as long. Exits with 1 when a value is more than twice its budget, or much worse than the accepted
one.
"""

from __future__ import annotations

import argparse
import os
import sys

from tests.benchmarks import accepted
from tests.benchmarks.accepted import complaint
from tests.benchmarks.calibration import calibration
from tests.benchmarks.report import keep_in_readme
from tests.benchmarks.running import judged, names, say


def main() -> int:
    """Run the chosen benchmarks, or all."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--write", action="store_true", help="keep the table in the README")
    parser.add_argument("--accept", action="store_true", help="compare later runs with this one")
    parser.add_argument("--minute", action="store_true", help="stream each reply for a minute, not for 12 s")
    chosen = parser.parse_args()
    if chosen.minute:
        # Each benchmark runs in a process of its own.
        os.environ["STREAMING_SECONDS"] = "60"
    if chosen.write and chosen.names:
        parser.error("--write keeps the table of a full run: name no benchmark")
    stored = accepted.load()
    known = {} if chosen.accept else stored
    beside = calibration()
    say(beside)
    rows = [row for name in chosen.names or names() for row in judged(name, known)]
    wrong = [line for line in (complaint(row, known) for row in rows) if line]
    say("\n" + "\n".join(wrong or [f"{len(rows)} values, none too high"]))
    if chosen.write:
        keep_in_readme(rows, beside)
    if chosen.accept:
        accepted.keep(rows, stored if chosen.names else {})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
