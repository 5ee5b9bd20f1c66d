"""Objects lie once, whole, private, under their digest, whoever puts them and whatever the disk does."""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from local_agent.domain.errors import LocalAgentError
from local_agent.objects.store import SPARED_SECONDS, ObjectFolder, ObjectMissing, ObjectsInMemory, digest_of
from tests.support.crash import ROOT
from tests.support.permissions import bound_by_modes

DATA = b"some bytes" * 1000
LATER = SPARED_SECONDS + 60.0
REMOVALS = 10


@pytest.fixture
def objects(tmp_path: Path) -> ObjectFolder:
    return ObjectFolder(tmp_path / "home" / "images" / "objects")


def files(objects: ObjectFolder) -> list[Path]:
    return [path for path in objects.folder.rglob("*") if not path.is_dir()]


def age(path: Path, seconds: float = LATER) -> None:
    long_ago = time.time() - seconds
    os.utime(path, (long_ago, long_ago))


def test_an_object_comes_back_and_lies_where_its_digest_says(objects: ObjectFolder) -> None:
    digest = objects.put(DATA)

    assert digest == hashlib.sha256(DATA).hexdigest()
    assert objects.get(digest) == DATA
    (path,) = files(objects)
    assert path == objects.folder / digest[:2] / digest


@pytest.mark.parametrize("mask", [0o000, 0o077, 0o777])
def test_only_its_owner_reads_it_whatever_the_umask(objects: ObjectFolder, mask: int) -> None:
    before = os.umask(mask)
    try:
        objects.put(DATA)
    finally:
        os.umask(before)

    (path,) = files(objects)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, objects.folder, objects.folder.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_twice_and_by_many_at_once_it_is_there_once(objects: ObjectFolder) -> None:
    with ThreadPoolExecutor(8) as pool:
        digests = set(pool.map(lambda _: objects.put(DATA), range(40)))

    assert digests == {digest_of(DATA)}
    assert len(files(objects)) == 1


@pytest.mark.parametrize("harm", ["gone", "altered", "cut short", "a folder", "a pipe", "a link to nothing"])
def test_what_is_not_what_was_put_is_never_given_and_is_mended_by_putting_it_again(
    objects: ObjectFolder, harm: str
) -> None:
    digest = objects.put(DATA)
    (path,) = files(objects)
    match harm:
        case "altered":
            path.write_bytes(b"x" + DATA[1:])
        case "cut short":
            path.write_bytes(DATA[:-1])
        case _:
            path.unlink()
    match harm:
        case "a folder":
            path.mkdir()
        case "a pipe":
            os.mkfifo(path)
        case "a link to nothing":
            path.symlink_to("nothing")

    with pytest.raises(ObjectMissing) as refused:
        objects.get(digest)
    assert refused.value.hint == "Attach it again."
    if harm != "a folder":
        assert objects.put(DATA) == digest
        assert objects.get(digest) == DATA


def test_a_name_that_is_no_digest_leads_nowhere(objects: ObjectFolder) -> None:
    for name in ("", "../../secret", "A" * 64, "ab" * 31, "ab" * 32 + "\n"):
        with pytest.raises(ObjectMissing):
            objects.get(name)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_disk_that_is_full_or_read_only_is_told_in_one_line_and_leaves_nothing(
    objects: ObjectFolder,
) -> None:
    kept = objects.put(DATA)
    for folder in [objects.folder, *objects.folder.iterdir()]:
        folder.chmod(0o500)

    def put() -> str:
        with pytest.raises(LocalAgentError) as refused:
            objects.put(b"other bytes")
        return str(refused.value)

    line = bound_by_modes(put)
    assert (
        line == f"{objects.folder} can't be written: Permission denied. Make room there, or make it writable."
    )
    assert objects.get(kept) == DATA
    assert [path.name for path in files(objects)] == [kept]


@pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
def test_a_write_that_fails_half_way_leaves_nothing(objects: ObjectFolder) -> None:
    import resource
    import signal

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    try:
        with pytest.raises(LocalAgentError, match=r"can't be written: File too large\."):
            objects.put(DATA)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)

    assert files(objects) == []


PUT_MANY = """
import itertools, sys
from pathlib import Path
from local_agent.objects.store import ObjectFolder
for number in itertools.count():
    ObjectFolder(Path(sys.argv[1])).put(f"{sys.argv[2]} {number} ".encode() * 20_000)
"""


def test_killed_while_writing_every_object_is_whole(objects: ObjectFolder) -> None:
    for life in range(3):
        before = len(files(objects))
        with subprocess.Popen(
            [sys.executable, "-c", PUT_MANY, str(objects.folder), str(life)], cwd=ROOT
        ) as child:
            # The instant differs with the speed of the machine; each is as good.
            while len(files(objects)) < before + 5 + life * 7:
                assert child.poll() is None
            child.kill()

    whole = [each.digest for each in objects.all() if not each.digest.startswith(".")]
    assert whole
    for digest in whole:
        assert digest_of(objects.get(digest)) == digest


def test_only_what_is_older_than_a_day_is_removed(objects: ObjectFolder) -> None:
    old, new = objects.put(b"old"), objects.put(b"new")
    half = objects.folder / old[:2] / f".{old}.12345678"
    half.write_bytes(b"o")
    for path in (objects.folder / old[:2] / old, half):
        age(path)

    assert {each.digest for each in objects.all()} == {old, new, half.name}
    assert [objects.remove(name) for name in (old, new, half.name, "ab" * 32)] == [True, False, True, False]
    assert [path.name for path in files(objects)] == [new]


def test_what_is_put_again_counts_as_new(objects: ObjectFolder) -> None:
    digest = objects.put(DATA)
    age(objects.folder / digest[:2] / digest)

    objects.put(DATA)
    assert not objects.remove(digest)


def test_a_removal_never_takes_what_is_put_meanwhile(objects: ObjectFolder) -> None:
    digest = digest_of(DATA)
    path = objects.folder / digest[:2] / digest
    stop = threading.Event()
    removed = 0

    def remove() -> None:
        nonlocal removed
        while not stop.is_set():
            removed += objects.remove(digest)

    with ThreadPoolExecutor(1) as pool:
        removing = pool.submit(remove)
        end = time.monotonic() + 20
        try:
            while removed < REMOVALS and time.monotonic() < end:
                objects.put(DATA)
                assert wait_for(path), "it was removed right after it was put"
                age_if_there(path)
        finally:
            stop.set()
        removing.result()
    assert removed >= REMOVALS


def wait_for(path: Path) -> bool:
    """True when it is there; it may be aside for the moment that its age takes to look at."""
    end = time.monotonic() + 2
    while not path.exists():
        if time.monotonic() > end:
            return False
    return True


def age_if_there(path: Path) -> None:
    with suppress(FileNotFoundError):
        age(path)


def test_what_is_put_for_good_is_on_disk_before_it_is_said_whoever_put_it_before(
    objects: ObjectFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    waits = os.fsync

    def noted(descriptor: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{descriptor}"))
        waits(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    one, two = (objects.put(data, durable=False) for data in (b"one", b"two"))
    assert synced == []
    assert (objects.get(one), objects.get(two)) == (b"one", b"two")

    paths = [objects.folder / digest[:2] / digest for digest in (one, two)]
    objects.put(b"one")
    assert synced == [str(paths[0]), str(paths[0].parent), str(objects.folder)]
    synced.clear()
    objects.settle([one, two, one])
    assert sorted(synced) == sorted(map(str, (*paths, *(path.parent for path in paths), objects.folder)))
    with pytest.raises(LocalAgentError, match=r"can't be written: No such file or directory\."):
        objects.settle(["ab" * 32])


def test_half_of_an_object_after_a_power_cut_is_none_and_is_mended(objects: ObjectFolder) -> None:
    digest = objects.put(DATA, durable=False)
    (path,) = files(objects)
    os.truncate(path, 100)
    with pytest.raises(ObjectMissing):
        objects.get(digest)
    objects.put(DATA, durable=False)
    assert objects.get(digest) == DATA


def test_each_new_object_is_counted_and_told_of(tmp_path: Path) -> None:
    told: list[None] = []
    counting = ObjectFolder(tmp_path / "objects", lambda: told.append(None))
    for data, written, times in ((b"12", 2, 1), (b"345", 5, 2), (b"12", 5, 2)):
        counting.put(data)
        assert (counting.written, len(told)) == (written, times)


def test_in_memory_the_oldest_go(objects: ObjectFolder) -> None:
    memory = ObjectsInMemory(10)
    one, two = memory.put(b"1" * 4), memory.put(b"2" * 4)
    memory.put(b"1" * 4)
    three = memory.put(b"3" * 4)
    assert [memory.has(each) for each in (one, two, three)] == [True, False, True]
    large = memory.put(b"4" * 11)
    assert memory.get(large) == b"4" * 11
    assert not memory.has(three)


def test_in_memory_it_is_the_same(objects: ObjectFolder) -> None:
    memory = ObjectsInMemory()
    digest = memory.put(DATA)

    assert digest == objects.put(DATA)
    assert memory.get(digest) == DATA
    with pytest.raises(ObjectMissing):
        memory.get("ab" * 32)
