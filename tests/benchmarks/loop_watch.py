"""Watches the event loop of a running app: how long it was kept from its timers, and by whom."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

TICK = 0.005
_RUN_DELAY = Path("/proc/thread-self/schedstat")


@dataclass(frozen=True, slots=True)
class Turn:
    """What passed between two ticks of a 5 ms timer; seconds."""

    silent: float
    """By how much the second tick came late."""
    delayed: float
    """Of that, how long other processes had the processor that this thread was ready for."""
    busy: float
    """Processor time of this thread, so what our own code did at a stretch."""
    spent: float
    """Processor time of all threads of the process."""
    progress: int
    """What ``progress`` gave at its end."""


class LoopWatch:
    """Takes a turn at each tick until its task is cancelled; runs on the loop that it watches."""

    def __init__(self, progress: Callable[[], int]) -> None:
        self.turns: list[Turn] = []
        self._progress = progress

    async def run(self) -> None:
        """Watch until cancelled."""
        before = _clocks()
        while True:
            await asyncio.sleep(TICK)
            now = _clocks()
            passed, delayed, busy, spent = (new - old for new, old in zip(now, before, strict=True))
            self.turns.append(Turn(passed - TICK, delayed, busy, spent, self._progress()))
            before = now

    def longest(self) -> Turn:
        """The turn in which our own code ran longest at a stretch."""
        return max(self.turns, key=lambda turn: turn.busy)

    def growth(self, end: int) -> float:
        """Processor time for each unit of progress up to ``end``: the last third against the first."""
        first = [turn for turn in self.turns if 0 < turn.progress <= end // 3]
        last = [turn for turn in self.turns if end - end // 3 < turn.progress <= end]
        return _cost(last) / _cost(first)


def _cost(turns: list[Turn]) -> float:
    return sum(turn.spent for turn in turns) / (turns[-1].progress - turns[0].progress)


def _clocks() -> tuple[float, float, float, float]:
    return time.perf_counter(), _run_delay(), time.thread_time(), time.process_time()


def _run_delay() -> float:
    """Seconds that this thread waited for a processor, where the system tells."""
    try:
        return int(_RUN_DELAY.read_text().split()[1]) / 1e9
    except OSError:
        return 0.0
