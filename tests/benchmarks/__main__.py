"""Measures what has a budget and prints a table: ``python -m tests.benchmarks [NAME ...]``.

Exits with 1 when a value is more than twice its budget.
"""

from __future__ import annotations

import sys

from tests.benchmarks import resume, startup, streaming
from tests.benchmarks.calibration import fsync_seconds, loop_seconds

BENCHMARKS = {"startup": startup.measure, "resume": resume.measure, "streaming": streaming.measure}


def main(chosen: list[str]) -> int:
    """Run the chosen benchmarks, or all."""
    out = sys.stdout
    out.write(f"calibration loop {loop_seconds() * 1e3:.1f} ms, fsync {fsync_seconds() * 1e3:.2f} ms\n")
    failed = False
    for name in chosen or BENCHMARKS:
        for row in BENCHMARKS[name]():
            out.write(f"{row}\n")
            out.flush()
            failed = failed or row.failed
    return 1 if failed else 0


sys.exit(main(sys.argv[1:]))
