"""What is dropped from the history is told, once, and putting waits for none of it."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.events import Notice
from local_agent.objects.store import ObjectFolder, digest_of
from local_agent.runtime.history import History
from tests.runtime.opened import opened, paths_in, settings_for
from tests.runtime.travelling import Worker
from tests.support.ollama_server import OllamaServer

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
    history.objects.put(b"new")
    settle()
    assert history.news() == (
        "Earlier contents of files and outputs of commands were dropped to stay under 1 MiB: "
        "2 objects, 1 MiB. What needs them can't be put back.",
    )
    assert history.news() == ()
    assert await history.describe() == "2 objects, 0.5 MiB, at most 1 MiB"


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
    assert (history.news(), await history.describe()) == ((), "")


@pytest.mark.parametrize("most", [1, 0])
async def test_a_conversation_keeps_what_it_changes_and_tells_what_went(
    home: Path, server: OllamaServer, most: int
) -> None:
    work = home.parent / "work"
    settings = settings_for(server.url)
    settings = replace(settings, tools=replace(settings.tools, history_mib=most))
    grown(paths_in(home).outputs, hours=2)
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    (work / "d").mkdir()
    (work / os.fsdecode(b"d/caf\xe9")).write_bytes(b"1\n")
    async with opened(home, server.url, settings=settings) as runtime:
        worker = Worker(runtime.new_conversation(), server, work)
        await worker.turn(
            ("read", {"path": "a.txt"}),
            ("edit", {"path": "a.txt", "old": "one", "new": "1"}),
            ("move", {"path": "d", "to": "e"}),
        )
        moved = (await worker.conversation.executions())[-1].changes
        assert [os.fsencode(change.path) for change in moved] == [b"d", b"d/caf\xe9", b"e", b"e/caf\xe9"]
        assert runtime.workshop.outputs.has(digest_of(b"one\n")) == (most > 0)
        settle()
        worker.events.clear()
        await worker.turn()
        [notice] = [event.text for event in worker.events if isinstance(event, Notice)]
        gone, left = (
            ("2 objects, 1 MiB", "3 objects, 0.5 MiB") if most else ("3 objects, 1.5 MiB", "0 objects, 0 MiB")
        )
        assert notice.endswith(f"to stay under {most} MiB: {gone}. What needs them can't be put back.")
        facts = (await runtime.facts(worker.conversation)).groups()["Database"]
        assert facts["earlier contents"] == f"{left}, at most {most} MiB"
