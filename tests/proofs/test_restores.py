"""A restore that is killed, wherever and whenever, leaves the old database or the new one, and the copy."""

from __future__ import annotations

import asyncio
import itertools
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from local_agent.store.copies import back_up
from local_agent.store.store import Store
from tests.proofs.filled import Rows, read_rows
from tests.store.samples import VERSION, fill, talk
from tests.store.test_restore import kept, put_back, require_old_or_new
from tests.support.crash import ROOT, dies_at

Proven = Callable[[str], None]

RANDOM_KILLS = 25
MESSAGES = 4_000
NAMED = ("copy:before-rename", "copy:after-rename", "restore:copied", "restore:written", "restore:in-place")


@dataclass(frozen=True)
class Scene:
    """A home with a database of some megabytes, and a copy from before half of it was written."""

    home: Path
    copy: Path
    before: Rows


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    folder = tmp_path_factory.mktemp("restores")
    database, copy = folder / "home" / "local-agent.db", folder / "copy.db"

    async def grow() -> None:
        store = Store.open(database, program_version=VERSION)
        held = await talk(store, "one")
        await store.close()
        fill(database, held.info.id, MESSAGES)

    asyncio.run(grow())
    back_up(database, copy, folder / "backups")
    asyncio.run(grow())
    return Scene(folder / "home", copy, read_rows(database))


def homes(scene: Scene, folder: Path) -> Iterator[Path]:
    """The database of one home after the other, each gone when the next is asked for."""
    while True:
        home = folder / "home"
        shutil.copytree(scene.home, home)
        yield home / "local-agent.db"
        shutil.rmtree(home)


def outcome(database: Path, scene: Scene) -> bool:
    """Whether the copy is in place; nothing in between can be, and what was there is never lost."""
    new = require_old_or_new(database, scene.copy, scene.before)
    assert all(read_rows(old) == scene.before for old in kept(database))
    assert kept(database) or not new
    return new


@pytest.mark.slow
def test_killed_at_every_step(tmp_path: Path, scene: Scene, proven: Proven) -> None:
    places = homes(scene, tmp_path)
    outcomes = []
    for point in NAMED:
        database = next(places)
        assert dies_at(point, put_back, str(database), str(scene.copy)), point
        outcomes.append(outcome(database, scene))
    for step in ("copy:page", "restore:page"):
        number = 0
        while dies_at(f"{step}:{number + 1}", put_back, str(database := next(places)), str(scene.copy)):
            number += 1
            outcomes.append(outcome(database, scene))
        assert number >= 5, step
    proven(
        f"{len(outcomes)} kills of a restore, each step: {outcomes.count(False)} left the old database,"
        f" {outcomes.count(True)} the new one, none anything else"
    )


class Restore:
    """A restore in a process of its own, which has loaded everything and begins now."""

    def __init__(self, database: Path, copy: Path) -> None:
        call = "import sys; print(1, flush=True); put_back(*sys.argv[1:])"
        program = f"from {put_back.__module__} import put_back; {call}"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, str(database), str(copy)], cwd=ROOT, stdout=subprocess.PIPE
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == b"1\n"
        self._begun = time.monotonic()

    def seconds(self) -> float:
        """How long it takes to its end."""
        assert self._process.wait(60) == 0
        return time.monotonic() - self._begun

    def kill_after(self, seconds: float) -> bool:
        """False when it came to its end before."""
        try:
            return self._process.wait(seconds) != 0
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait(60) == -signal.SIGKILL


@pytest.mark.slow
def test_killed_at_any_instant(tmp_path: Path, scene: Scene, proven: Proven) -> None:
    places = homes(scene, tmp_path)
    whole = Restore(next(places), scene.copy).seconds()
    chance = random.Random(3)
    killed, outcomes = 0, []
    for database in itertools.islice(places, RANDOM_KILLS):
        killed += Restore(database, scene.copy).kill_after(chance.uniform(0, 1.2 * whole))
        outcomes.append(outcome(database, scene))
    assert killed > RANDOM_KILLS // 4
    assert set(outcomes) == {False, True}
    proven(
        f"{RANDOM_KILLS} restores, {killed} killed at a random instant: {outcomes.count(False)} left the old"
        f" database, {outcomes.count(True)} the new one, none anything else"
    )
