"""Databases with one session of a given length, made once for a benchmark."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tests.store.steps import fill_session, measure_steps
from tests.support.sql_meter import Cost

SHORT, MIDDLE, LONG = 100, 1_000, 100_000
TURNS = 25
"""Enough that the one commit in a hundred in which a full leaf of an index is split does not decide."""
AGAINST = f"{LONG:,} against {SHORT} entries"


@dataclass(frozen=True, slots=True)
class Filled:
    """A closed database and the handle of its session."""

    path: Path
    handle: str


@lru_cache
def filled(entries: int) -> Filled:
    """The database with this many entries; gone when the process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder) / "local-agent.db"
    return Filled(path, asyncio.run(fill_session(path, entries)))


@lru_cache
def step_costs(entries: int) -> dict[str, Cost]:
    """What each step of a conversation costs in a copy of it."""
    original = filled(entries)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(shutil.copy(original.path, folder))
        return asyncio.run(measure_steps(path, original.handle, TURNS))
