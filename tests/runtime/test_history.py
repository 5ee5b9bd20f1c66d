"""What is dropped from the history is told, once, and putting waits for none of it."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from local_agent.objects.store import ObjectFolder
from local_agent.runtime.history import History

MIB = 1024 * 1024


def grown(folder: Path, *, hours: float) -> None:
    """Three objects of half a MiB, put so long ago."""
    for number in range(3):
        digest = ObjectFolder(folder).put(bytes([number]) * (MIB // 2))
        long_ago = time.time() - hours * 3_600
        os.utime(folder / digest[:2] / digest, (long_ago, long_ago))


def settle() -> None:
    """Wait for what looks in the background."""
    for thread in threading.enumerate():
        if thread.name == "bounding":
            thread.join()


async def test_the_first_put_finds_what_is_too_much_and_it_is_told_once(tmp_path: Path) -> None:
    grown(tmp_path / "objects", hours=2)
    history = History(tmp_path / "objects", 1)
    assert history.news() == ()

    history.objects.put(b"new")
    settle()
    assert history.news() == (
        "Earlier contents of files and outputs of commands were dropped to stay under 1 MiB: "
        "2 objects, 1 MiB. What needs them can't be put back.",
    )
    assert history.news() == ()
    assert await history.facts() == {"earlier contents": "2 objects, 0.5 MiB, at most 1 MiB"}


async def test_no_contents_are_kept_where_the_person_wants_none(tmp_path: Path) -> None:
    grown(tmp_path / "objects", hours=2)
    history = History(tmp_path / "objects", 0)
    assert not history.keeps_contents
    history.objects.put(b"what a command said")
    settle()
    assert "to stay under 0 MiB: 3 objects, 1.5 MiB." in history.news()[0]


async def test_a_run_that_leaves_nothing_on_disk_keeps_little_in_memory() -> None:
    history = History(None, 1)
    digests = [history.objects.put(bytes([number]) * (MIB // 2)) for number in range(3)]
    assert [history.objects.has(digest) for digest in digests] == [False, True, True]
    assert (history.news(), await history.facts()) == ((), {})
