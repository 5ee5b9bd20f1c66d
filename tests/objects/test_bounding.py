"""A folder of objects stays under its bound: the oldest go first, what is new stays, and it costs little."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from local_agent.objects.bounding import EVERY_SECONDS, SPARED_SECONDS, Bounding, Dropped
from local_agent.objects.store import ObjectFolder, StoredObject
from tests.support.permissions import bound_by_modes

KB = 1_000


class Listed(ObjectFolder):
    """Counts how often all of it is listed."""

    times = 0

    def all(self) -> Iterator[StoredObject]:
        self.times += 1
        return super().all()


@pytest.fixture
def objects(tmp_path: Path) -> Listed:
    return Listed(tmp_path / "objects")


def put(objects: ObjectFolder, number: int, *, hours: float = 0) -> str:
    """An object of 1,000 bytes, put so many hours ago."""
    digest = objects.put(f"{number:04} ".encode() * 200)
    if hours:
        long_ago = time.time() - hours * 3_600
        os.utime(objects.folder / digest[:2] / digest, (long_ago, long_ago))
    return digest


def later(monkeypatch: pytest.MonkeyPatch) -> None:
    """A minute passes."""
    now = time.monotonic() + EVERY_SECONDS + 1
    monkeypatch.setattr("local_agent.objects.bounding.time.monotonic", lambda: now)


def test_what_was_put_longest_ago_goes_first(objects: Listed) -> None:
    digests = [put(objects, number, hours=20 - number) for number in range(10)]
    put(objects, 0, hours=3)  # put again, it counts from then

    assert Bounding(objects, 8 * KB).look() == Dropped(3, 3 * KB)
    assert [objects.has(digest) for digest in digests] == [True, False, False, False, *[True] * 6]


def test_what_is_new_stays_whatever_the_size(objects: Listed) -> None:
    old, *new = put(objects, 0, hours=2), put(objects, 1, hours=0.9), put(objects, 2)

    assert Bounding(objects, 0).look() == Dropped(1, KB)
    assert not objects.has(old)
    assert all(map(objects.has, new))


def test_what_a_dead_writer_left_counts_and_goes(objects: Listed) -> None:
    digest = put(objects, 0)
    half = objects.folder / digest[:2] / f".{digest}.12345678"
    half.write_bytes(b"x" * 5 * KB)
    os.utime(half, (1, 1))

    assert Bounding(objects, 2 * KB).look() == Dropped(1, 5 * KB)
    assert os.listdir(half.parent) == [digest]


def test_all_is_listed_once_and_again_only_when_it_may_be_too_much(
    objects: Listed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        put(objects, number, hours=5)
    bound = Bounding(objects, 10 * KB)
    assert bound.due
    for number in range(10):
        bound.look()
        put(objects, 10 + number // 2)  # every other one is there already
    assert objects.times == 1

    put(objects, 20)
    assert not bound.due, "no more than once a minute"
    later(monkeypatch)
    assert bound.due
    assert bound.look() == Dropped(2, 2 * KB)
    assert (objects.times, bound.due) == (2, False)


def test_one_of_many_threads_looks(objects: Listed) -> None:
    for number in range(20):
        put(objects, number, hours=2)
    bound = Bounding(objects, 10 * KB)
    gate = threading.Barrier(8)

    def look(_: int) -> Dropped:
        gate.wait()
        return bound.look()

    with ThreadPoolExecutor(8) as pool:
        dropped = [each for each in pool.map(look, range(8)) if each.objects]
    assert dropped == [Dropped(11, 11 * KB)]
    assert objects.times == 1


def test_two_processes_may_remove_at_once(objects: Listed) -> None:
    for number in range(40):
        put(objects, number, hours=2)
    bounds = [Bounding(ObjectFolder(objects.folder), 10 * KB) for _ in range(2)]

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(Bounding.look, bounds)
    assert first.objects + second.objects == 40 - len(list(objects.all()))
    assert 0 < len(list(objects.all())) <= 10


def test_what_is_put_again_while_the_oldest_go_stays(objects: Listed) -> None:
    renewed, gone = put(objects, 0, hours=2), put(objects, 1, hours=2)

    class PutMeanwhile(ObjectFolder):
        def remove(self, name: str, spared: float = SPARED_SECONDS) -> bool:
            put(objects, 0)
            return super().remove(name, spared)

    assert Bounding(PutMeanwhile(objects.folder), 0).look() == Dropped(1, KB)
    assert (objects.has(renewed), objects.has(gone)) == (True, False)


def test_a_folder_that_is_not_there_or_can_not_be_written_is_left_alone(objects: Listed) -> None:
    assert Bounding(objects, 0).look() == Dropped()
    digest = put(objects, 0, hours=2)
    (objects.folder / digest[:2]).chmod(0o500)
    assert bound_by_modes(Bounding(objects, 0).look) == Dropped()
    assert [each.digest for each in objects.all()] == [digest]


def test_a_hundred_thousand_are_sorted_through_in_no_time(objects: Listed) -> None:
    """The listing is the disk's; what comes on top of it is counted here."""

    class Many(ObjectFolder):
        removed = 0

        def all(self) -> Iterator[StoredObject]:
            return (StoredObject(f"{number:064x}", KB, number) for number in range(100_000))

        def remove(self, name: str, spared: float = SPARED_SECONDS) -> bool:
            self.removed += 1
            return True

    many = Many(objects.folder)
    assert Bounding(many, 99_000 * KB).look() == Dropped(10_900, 10_900 * KB)
    assert many.removed == 10_900
