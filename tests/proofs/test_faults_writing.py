"""A write that fails in mid-session: nothing on screen is lost, whatever the fault and whenever it comes."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import stat
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Slice, TurnStatus
from local_agent.domain.errors import NotSaved
from local_agent.domain.events import (
    Event,
    Notice,
    SavedAgain,
    SavingFailed,
    TextDelta,
    TurnEnded,
    TurnFailed,
    TurnStarted,
)
from local_agent.runtime.conversation import Conversation
from tests.proofs.faulty_disk import FaultyDisk, failing, stored
from tests.runtime.opened import events_of, opened, paths_in
from tests.support.ollama_server import OllamaServer, Turn, gate, say, sleep

LONG = " ".join(str(number * number) for number in range(1200))
"""Too long for the free room in any page: whatever holds it makes the database grow."""
QUESTIONS = [f"Question {number}? {LONG}" for number in range(3)]
REPLIES = [f"Answer {number}. {LONG}" for number in range(3)]
FAULTS: dict[str, Callable[[FaultyDisk], None]] = {"full": FaultyDisk.fill, "read-only": FaultyDisk.protect}
FOR_GOOD = 1000
WRITES = 6
"""Of a session of three turns whose replies come at once: question and answer of each."""


def texts(part: Slice) -> list[str]:
    return [entry.text for entry in part.entries]


def everything(count: int = 3) -> list[str]:
    return [text for pair in zip(QUESTIONS[:count], REPLIES[:count], strict=True) for text in pair]


async def life(conversation: Conversation, server: OllamaServer, *, slowly: bool = False) -> list[Event]:
    """Three turns; every one must settle, and the transcript must be whole after each."""
    events: list[Event] = []
    for number, (question, reply) in enumerate(zip(QUESTIONS, REPLIES, strict=True), 1):
        half = len(reply) // 2
        pause = (sleep(0.4),) if slowly else ()
        server.script(Turn(say(reply[:half], chunking="whole"), *pause, say(reply[half:], chunking="whole")))
        turn = await events_of(conversation.ask(Prompt(question)))
        assert isinstance(turn[-1], TurnEnded) and turn[-1].status is TurnStatus.SETTLED
        assert not [event for event in turn if isinstance(event, TurnFailed)]
        assert texts(await conversation.tail()) == everything(number)
        events += turn
    return events


async def without_faults(home: Path, server: OllamaServer) -> tuple[dict[str, list[Any]], object]:
    async with failing(home, server.url) as bench:
        conversation = bench.runtime.new_conversation()
        await life(conversation, server)
        assert len(bench.disk.names) == WRITES
        await conversation.close()
    return stored(paths_in(home).database), server.chats[-1].body["messages"][1:]


async def lives(
    fault: str, lasting: tuple[int, ...], tmp_path: Path, home: Path, server: OllamaServer, *, slowly: bool
) -> int:
    """A life for every write at which the fault can begin; how many writes failed in them."""
    empty = tmp_path / "empty"
    async with failing(home, server.url):
        pass
    shutil.copytree(home, empty)
    expected, request = await without_faults(home, server)
    failed = 0
    for first in range(1, WRITES * (1 + slowly) + 1):
        for last in (first + each for each in lasting):
            place = tmp_path / f"{first}-{last}" / "home"
            shutil.copytree(empty, place)
            async with failing(place, server.url) as bench:
                disk = bench.disk
                disk.fault, disk.first, disk.last = FAULTS[fault], first, last
                conversation = bench.runtime.new_conversation()
                events = await life(conversation, server, slowly=slowly)
                failures = [event for event in events if isinstance(event, SavingFailed)]
                assert all(event.hint for event in failures)
                assert failures or len(disk.names) < first
                assert server.chats[-1].body["messages"][1:] == request
                if conversation.unsaved:
                    disk.mend()
                    assert isinstance(await conversation.save(), SavedAgain)
                failed += disk.failed
                assert not conversation.unsaved
                assert conversation.set_aside() is None
                assert texts(await conversation.tail()) == everything()
                await conversation.close()
            assert stored(paths_in(place).database) == expected
            shutil.rmtree(place.parent)
    return failed


@pytest.mark.parametrize(("fault", "lasting"), [("full", 3), ("read-only", FOR_GOOD)])
async def test_at_each_write(
    fault: str,
    lasting: int,
    tmp_path: Path,
    home: Path,
    server: OllamaServer,
    proven: Callable[[str], None],
) -> None:
    failed = await lives(fault, (lasting,), tmp_path, home, server, slowly=False)
    assert failed >= WRITES
    proven(f"disk {fault} from each of {WRITES} writes on: {failed} writes failed, nothing lost or doubled")


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
async def test_at_each_write_of_replies_that_are_saved_while_they_arrive(
    fault: str, tmp_path: Path, home: Path, server: OllamaServer, proven: Callable[[str], None]
) -> None:
    failed = await lives(fault, (0, 1, 3, FOR_GOOD), tmp_path, home, server, slowly=True)
    assert failed >= 4 * WRITES
    proven(f"disk {fault} from each write on, for 1, 2, 4 and all writes: {failed} failed, none lost")


async def test_what_can_never_be_written_is_in_a_private_file(
    home: Path, server: OllamaServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with failing(home, server.url) as bench:
        bench.disk.fault, bench.disk.first, bench.disk.last = FaultyDisk.protect, 3, FOR_GOOD
        conversation = bench.runtime.new_conversation()
        await life(conversation, server)
        await conversation.close()
        path = conversation.set_aside("half a thought")
        assert path is not None and path.parent == paths_in(home).unsaved
        assert path.name.startswith(conversation.handle)
        # Where the home takes no file either, the temporary folder does.
        temporary = tmp_path / "temporary"
        temporary.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(temporary))
        kept = path.read_text("utf-8")
        shutil.rmtree(path.parent)
        path.parent.write_text("")
        elsewhere = conversation.set_aside("half a thought")
        assert elsewhere is not None and temporary in elsewhere.parents
        path.parent.unlink()
        shutil.copytree(elsewhere.parent, path.parent)
        for file in (elsewhere, elsewhere.parent):
            assert stat.S_IMODE(file.stat().st_mode) == (0o700 if file.is_dir() else 0o600)
    for text in (*everything()[2:], "half a thought", "The database is read-only."):
        assert text in kept and text in elsewhere.read_text("utf-8")
    assert QUESTIONS[0] not in kept
    assert [text for _, _, _, _, text, _, _ in stored(paths_in(home).database)["entries"]] == everything(1)
    async with opened(home, server.url) as runtime:
        assert any(str(path.parent) in notice for notice in runtime.startup_notices)


async def test_a_newer_program_migrates_in_mid_turn(home: Path, server: OllamaServer) -> None:
    server.script("One.", Turn("two ", gate("refused"), "three"))
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("First?")))
        events: list[Event] = []
        before: dict[str, list[Any]] = {}
        async for event in conversation.ask(Prompt("Second?")):
            events.append(event)
            if isinstance(event, TextDelta) and not before:
                with closing(sqlite3.connect(paths_in(home).database)) as db:
                    db.execute(
                        "INSERT INTO schema_migrations VALUES ('0006', '0006_x.py', 'x', '2027', '0.9.0')"
                    )
                    db.execute("PRAGMA user_version = 6")
                    db.commit()
                before = stored(paths_in(home).database)
                await until(lambda: conversation.unsaved)
                server.release("refused")
        (notice,) = [event.text for event in events if isinstance(event, Notice)]
        (failure,) = [event for event in events if isinstance(event, TurnFailed)]
        assert "updated by local-agent 0.9.0" in notice and "updated by local-agent 0.9.0" in failure.line
        assert f"local-agent --resume {conversation.handle}" in failure.hint
        path = conversation.set_aside()
        assert path is not None and str(path) in failure.hint
        assert "Second?" in path.read_text() and "two three" in path.read_text()
        refused = await events_of(conversation.ask(Prompt("Third?")))
        assert not [event for event in refused if isinstance(event, TurnStarted)]
        assert "Third?" in path.read_text()
    assert stored(paths_in(home).database) == before
    assert len(server.chats) == 2


async def test_a_session_that_is_taken_over_in_mid_reply(home: Path, server: OllamaServer) -> None:
    server.script(Turn("one ", gate("taken"), "two"))
    async with opened(home, server.url) as runtime, opened(home, server.url) as other:
        conversation = runtime.new_conversation()
        failure = None
        async for event in conversation.ask(Prompt("Mine?")):
            if isinstance(event, TextDelta) and event.text.startswith("one"):
                await other.take_over(conversation.handle)
                server.release("taken")
            if isinstance(event, TurnFailed):
                failure = event
        path = conversation.set_aside()
        assert failure is not None and failure.kind == "lease_lost"
        assert path is not None and str(path) in failure.hint and "one" in path.read_text()


async def test_a_conversation_that_waits_can_be_paged_and_asked_again(
    home: Path, server: OllamaServer
) -> None:
    server.script("A.", "B.", "C.", "C again.", "D.")
    async with failing(home, server.url) as bench:
        bench.disk.fault, bench.disk.first, bench.disk.last = FaultyDisk.protect, 3, FOR_GOOD
        conversation = bench.runtime.new_conversation()
        for question in ("a?", "b?", "c?"):
            await events_of(conversation.ask(Prompt(question)))
        await events_of(conversation.retry())
        whole = (await conversation.tail()).entries
        assert [entry.text for entry in whole] == ["a?", "A.", "b?", "B.", "c?", "C again."]
        assert [entry.id for entry in whole] == sorted(entry.id for entry in whole)
        for count in range(1, 7):
            part = await conversation.tail(count)
            assert part.entries == whole[-count:] and part.more is (count < 6)
            for place, entry in enumerate(whole):
                part = await conversation.before(entry.id, count)
                assert part.entries == whole[max(0, place - count) : place]
                assert part.more is (place > count)
        bench.disk.mend()
        saved = await conversation.save()
        assert isinstance(saved, SavedAgain) and saved.turns == 3
        own = (await conversation.tail()).entries
        assert [saved.ids.get(entry.id, entry.id) for entry in whole] == [entry.id for entry in own]
        assert texts(await conversation.before(whole[4].id, 2)) == ["b?", "B."]
        await events_of(conversation.ask(Prompt("d?")))
        assert texts(await conversation.tail(4)) == ["c?", "C again.", "d?", "D."]


async def test_a_folder_of_locks_that_cannot_be_used(home: Path, server: OllamaServer) -> None:
    server.script("A.", "B.")
    async with opened(home, server.url) as runtime:
        locks = paths_in(home).locks
        shutil.rmtree(locks, ignore_errors=True)
        locks.write_text("")
        conversation = runtime.new_conversation()
        events = await events_of(conversation.ask(Prompt("a?")))
        assert any(isinstance(event, SavingFailed) and "locked" in event.line for event in events)
        assert (conversation.handle, texts(await conversation.tail())) == ("", ["a?", "A."])
        locks.unlink()
        await events_of(conversation.ask(Prompt("b?")))
        assert conversation.handle and not conversation.unsaved
    assert stored(paths_in(home).database)["sessions"] == [(3, "a?", 2, "llama3.2:3b")]


@pytest.mark.parametrize("when", ["question", "reply"])
async def test_a_stop_does_not_wait_for_a_locked_database(
    when: str, home: Path, server: OllamaServer
) -> None:
    server.script(Turn("half", gate("never")))
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        with closing(sqlite3.connect(paths_in(home).database, isolation_level=None)) as other:
            lock = partial(other.execute, "BEGIN IMMEDIATE")
            if when == "question":
                lock()
                asyncio.get_running_loop().call_later(0.2, conversation.stop)
            stopped = time.monotonic() + 0.2
            end: Event | None = None
            async for end in conversation.ask(Prompt("Is it locked?")):
                if isinstance(end, TextDelta) and not other.in_transaction:
                    lock()
                    stopped = time.monotonic()
                    conversation.stop()
            assert time.monotonic() - stopped < 2
            assert isinstance(end, TurnEnded) and end.status is TurnStatus.INTERRUPTED
            assert conversation.unsaved
            other.execute("ROLLBACK")
        assert isinstance(await conversation.save(), SavedAgain)
        await conversation.close()
    found = stored(paths_in(home).database)
    reply = [(0, "assistant", "model", "interrupted", "half", "", "")] if when == "reply" else []
    assert [entry[4] for entry in found["entries"]][:1] == ["Is it locked?"]
    assert found["entries"][1:] == reply
    assert found["turns"] == [("interrupted", "interrupted", None)]


_HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=10)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
time.sleep(20)
db.execute("ROLLBACK")
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["question", "reply"])
async def test_another_program_locks_the_database_for_20_seconds(
    when: str, home: Path, server: OllamaServer, proven: Callable[[str], None]
) -> None:
    server.script("One.", Turn("two ", gate("locked"), "three"))
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("First?")))

        async def lock() -> asyncio.subprocess.Process:
            command = sys.executable, "-c", _HOLD, str(paths_in(home).database)
            holder = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
            assert holder.stdout is not None and await holder.stdout.readline() == b"locked\n"
            server.release("locked")
            return holder

        holder = await lock() if when == "question" else None
        events = []
        async for event in conversation.ask(Prompt("Second?")):
            events.append(event)
            if isinstance(event, TextDelta) and holder is None:
                holder = await lock()
        assert isinstance(events[-1], TurnEnded) and events[-1].status is TurnStatus.SETTLED
        (failure,) = {event.line for event in events if isinstance(event, SavingFailed)}
        assert failure == "The database is locked by another program."
        if when == "reply":
            runtime.hurry()
            with pytest.raises(NotSaved, match="locked by another program"):
                await conversation.rename("Not now")
        assert holder is not None and await holder.wait() == 0
        await conversation.save()
        assert not conversation.unsaved
        await conversation.close()
    assert [entry[4] for entry in stored(paths_in(home).database)["entries"]] == [
        "First?",
        "One.",
        "Second?",
        "two three",
    ]
    proven(f"database locked for 20 s by another program at the {when}: the turn went on and was written")


async def until(holds: Callable[[], bool], seconds: float = 10) -> None:
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  # a thread of the store changes it: nothing to be woken by
            await asyncio.sleep(0.01)
