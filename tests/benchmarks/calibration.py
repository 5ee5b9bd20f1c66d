"""What times are compared with: a loop of plain Python, and a forced write of this machine's disk."""

from __future__ import annotations

import os
import tempfile
import time


def loop_seconds() -> float:
    """The best of five runs of a fixed piece of pure Python."""

    def once() -> float:
        begin = time.perf_counter()
        sum(number % 7 for number in range(1_000_000))
        return time.perf_counter() - begin

    return min(once() for _ in range(5))


def fsync_seconds() -> float:
    """The median of 25 small writes, each forced to the disk."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(25):
            begin = time.perf_counter()
            file.write(b"x" * 4096)
            file.flush()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - begin)
    return sorted(times)[len(times) // 2]
