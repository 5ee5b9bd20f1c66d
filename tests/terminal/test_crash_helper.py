"""The crash helper itself: it kills where it says, and notices when it does not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from local_agent.domain.crashpoints import reach
from tests.support.crash import crash_at, kill_at_random


def count_visits(path: str) -> None:
    with Path(path).open("a") as out:
        for _ in range(5):
            out.write("x")
            out.flush()
            reach("here")


def write_forever(path: str) -> None:
    while True:
        Path(path).write_text("alive")
        time.sleep(0.001)


def test_dies_at_the_visit_that_was_named(tmp_path: Path) -> None:
    path = tmp_path / "visits"
    crash_at("here:3", count_visits, str(path))
    assert path.read_text() == "xxx"


def test_a_place_that_is_not_there_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="was not reached"):
        crash_at("nowhere", count_visits, str(tmp_path / "visits"))


def test_dies_at_an_instant(tmp_path: Path) -> None:
    assert kill_at_random(write_forever, str(tmp_path / "file"), within=0.3, seed=1)
    assert not kill_at_random(count_visits, str(tmp_path / "visits"), within=60, seed=2)
