"""What times are compared with: a loop of plain Python, and a forced write of this machine's disk."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Awaitable
from functools import lru_cache


def loop_seconds() -> float:
    """The best of five runs of a fixed piece of pure Python."""

    def once() -> float:
        begin = time.perf_counter()
        sum(number % 7 for number in range(1_000_000))
        return time.perf_counter() - begin

    return min(once() for _ in range(5))


REFERENCE_SECONDS = 0.05
"""Processor time of the loop on the machine that the budgets in milliseconds are meant for."""


@lru_cache
def slowness() -> float:
    """How much more processor time the loop takes than on that machine; kept until its cache is cleared."""

    def once() -> float:
        begin = time.thread_time()
        sum(number % 7 for number in range(1_000_000))
        return time.thread_time() - begin

    return min(once() for _ in range(3)) / REFERENCE_SECONDS


async def work(doing: Awaitable[object]) -> float:
    """Milliseconds of processor time of all threads, as the reference machine would take them."""
    begin = time.process_time()
    await doing
    return (time.process_time() - begin) * 1e3 / slowness()


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


def calibration() -> str:
    """Both, in words."""
    return f"calibration loop {loop_seconds() * 1e3:.0f} ms, a forced write {fsync_seconds() * 1e3:.2f} ms"
