"""Killed at any instant, the program loses nothing that was settled and next to nothing that streamed."""

from __future__ import annotations

import asyncio
import random
import secrets
import signal
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from local_agent.domain.crashpoints import POINTS
from local_agent.store.store import Store
from tests.proofs.kill_life import WORK
from tests.proofs.kill_runs import Books, Life
from tests.store.samples import VERSION
from tests.support.machine import Machine
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, When, call, streamed
from tests.support.terminal import patience, until
from tests.terminal.steps import LEAVING_LIMIT, ask

Proven = Callable[[str], None]

REPLY = " ".join(f"word{number}" for number in range(60))
PER_SECOND = 80
WITHIN = 1.0
"""Seconds from the first word of a reply: most of it, its end, and the beginning of the next turn."""
STARTING = 2.0
"""Seconds from the start of the process to somewhere in its first reply."""
PAGE = 4096
MEGABYTE = 1 << 20

MIGRATING = [point for point in POINTS if point.startswith("migrate:")]
LATER_VISITS = [
    f"{commit}:{side}:{visit}"
    for commit, visit in [("reply.keep", 2), ("reply.keep", 5), ("turn.settle", 2), ("turn.begin", 2)]
    for side in ("before-commit", "after-commit")
]
COMMITTING = [*(point for point in POINTS if point not in MIGRATING), *LATER_VISITS]


@pytest.fixture
def books(tmp_path: Path, server: OllamaServer) -> Books:
    server.default = streamed(REPLY, per_second=PER_SECOND)
    seeing = ModelSpec("llama3.2:3b", capabilities=("completion", "tools", "vision"))
    server.models[seeing.name] = seeing
    return Books(Machine.make(tmp_path, server.url), server)


def working() -> Turn:
    """What the model wants once it is told to write: a file of which nobody has read anything."""
    wanted = call("write", {"path": f"{secrets.token_hex(4)}.txt", "content": "kept"})
    return Turn(wanted, when=When(contains=WORK, last_role="user"))


def kill_at_random(books: Books, runs: int, seed: int, *, starting: bool = False) -> None:
    """Kill as many processes at instants that follow from ``seed``, new sessions and resumed ones in turn."""
    chance = random.Random(seed)
    for run in range(runs):
        instant = chance.uniform(0, patience(STARTING) if starting else WITHIN)
        books.note(f"seed {seed}, run {run}: killed after {instant:.3f} s")
        life = Life(books.machine, "talk", *([books.handle] if run % 2 and books.handle else []))
        if not starting:
            until(lambda: any(chat.sent for chat in books.server.chats), what="the first word")
        books.after(life.told, life.kill_after(instant))


def kill_at(books: Books, point: str) -> None:
    """Let a process die at a named point."""
    books.note(f"killed at {point}")
    books.server.script(working())
    life = Life(books.machine, "every_commit", crash_at=point)
    died_at = life.wait_death()
    assert life.process.returncode == -signal.SIGKILL, f"{point} is not reached\n{life.errors.read_text()}"
    books.after(life.told, died_at)


def kill_in_checkpoint(books: Books, seed: int) -> None:
    """Let a process die in the write that copies some page from the log into the database.

    Another process has filled the log to just below the size at which a commit copies it all, mostly
    with pages that lie behind the end of the database. No file may grow past a size that the log does
    not reach and that lies among those pages.
    """
    database, chance = books.machine.database, random.Random(seed)
    if not database.exists():
        asyncio.run(Store.open(database, program_version=VERSION).close())
    with closing(sqlite3.connect(database)) as other:
        _insert(other, max(0, 8 * MEGABYTE - database.stat().st_size))
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = database.stat().st_size
        other.execute("PRAGMA wal_autocheckpoint = 0")
        pages = chance.randrange(850, 950)
        _insert(other, pages * PAGE)
        largest = size + chance.randrange(1, pages * PAGE)
        books.note(f"seed {seed}: killed when {size} bytes have become {largest}")
        life = Life(books.machine, "checkpoint", books.handle, str(largest))
        died_at = life.wait_death()
        assert life.process.returncode == -signal.SIGXFSZ, life.errors.read_text()
        log = database.with_name(database.name + "-wal").stat().st_size
        assert log < largest, "it did not die in the log"
        assert size < database.stat().st_size == largest, "it did not die in the database"
    books.after(life.told, died_at)


def kill_on_screen(books: Books, seed: int) -> None:
    """Kill the whole program in a terminal, in the reply to its second question."""
    instant = random.Random(seed).uniform(0, 1.2)
    books.note(f"seed {seed}: killed {instant:.3f} s after its second question")
    with books.machine.terminal() as terminal:
        ask(terminal, f"Before {seed}")
        terminal.wait_for(REPLY[-6:])
        terminal.wait_for("tok/s")
        ask(terminal, f"Second {seed}")
        time.sleep(instant)
        died_at = time.monotonic()
        terminal.signal(signal.SIGKILL)
        terminal.wait_exit(LEAVING_LIMIT)
    books.after([], died_at)


def _insert(database: sqlite3.Connection, bytes_: int) -> None:
    database.execute("INSERT INTO prompt_texts VALUES (hex(randomblob(16)), zeroblob(?))", (bytes_,))
    database.commit()


def test_a_process_passes_every_named_point_and_no_other(books: Books) -> None:
    books.server.script(working())
    life = Life(books.machine, "every_commit", crash_at="nowhere")
    life.wait_death()
    assert life.process.returncode == 0, life.errors.read_text()
    assert set(life.told[-1]["passed"]) == set(POINTS)


def test_a_few_kills(books: Books, proven: Proven) -> None:
    kill_in_checkpoint(books, seed=0)
    kill_at_random(books, 2, seed=10)
    assert books.partial, "no kill hit a reply that was half there"
    proven(f"a few kills: {books.summary}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 7))
def test_kills_at_random_instants(books: Books, proven: Proven, seed: int) -> None:
    kill_at_random(books, 20, seed)
    assert books.partial, "these kills came between the turns"
    proven(f"kills at random instants, seed {seed}: {books.summary}")


@pytest.mark.slow
def test_kills_while_it_starts(books: Books, proven: Proven) -> None:
    kill_at_random(books, 15, seed=7, starting=True)
    proven(f"kills while it starts: {books.summary}")


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_kills_at_every_commit(books: Books, proven: Proven, part: int) -> None:
    for point in COMMITTING[part::4]:
        kill_at(books, point)
    proven(f"kills at named points, part {part}: {books.summary}")


@pytest.mark.slow
@pytest.mark.parametrize("point", MIGRATING)
def test_kills_while_the_database_is_built(books: Books, proven: Proven, point: str) -> None:
    kill_at(books, point)
    proven(f"kills at {point}: {books.summary}")


@pytest.mark.slow
def test_kills_in_checkpoints(books: Books, proven: Proven) -> None:
    for seed in range(1, 11):
        kill_in_checkpoint(books, seed)
    proven(f"kills in a checkpoint: {books.summary}")


@pytest.mark.slow
@pytest.mark.terminal
@pytest.mark.parametrize("part", range(2))
def test_kills_of_the_whole_screen(books: Books, proven: Proven, part: int) -> None:
    for seed in range(10 * part, 10 * part + 10):
        kill_on_screen(books, seed)
    proven(f"kills in a terminal, part {part}: {books.summary}")
