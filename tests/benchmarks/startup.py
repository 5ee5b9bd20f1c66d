"""From the start of the process to the first key's echo, against a bare Textual app with one input."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from local_agent.store.store import Store
from tests.benchmarks.report import Row
from tests.store.samples import VERSION, fill, talk
from tests.support.emulator import Emulator
from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer
from tests.support.terminal import Terminal

RUNS = 5
BUDGET, BUDGET_WITH_FILE = 1.5, 2.0
TAIL_BUDGET = 5.0
"""Until the end of a stored session is painted: the database is open by then."""
ENTRIES = 1000
TAIL = "the last answer"
KEYS = "ΩΨΞΛΣΦΓΔΘΠЖЯЮЩШЧЦЫЭЪ"
GAP = 0.05
"""Seconds between two keys of somebody who types without a rest."""
_BARE = """
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input()

Bare().run()
"""
# Without the kernel's own echo, all that is shown of a key is the program's.
_QUIET = 'stty -echo; exec "$@"'


@dataclass(frozen=True, slots=True)
class Start:
    """Seconds; ``work`` is processor time until the first echo, on all threads."""

    first: float
    slowest: float
    work: float


def measure() -> Iterator[Row]:
    """Runs of all kinds in turn; of each kind the best counts, as others only disturb."""
    with tempfile.TemporaryDirectory() as folder, HostedServer() as server:
        machine = Machine.make(Path(folder), server.url)
        bare = (sys.executable, "-c", _BARE)
        program = ("local-agent",)
        _start(machine, program)
        handle = asyncio.run(_store_session(machine))
        kinds: dict[str, Callable[[], Start]] = {
            "bare": lambda: _start(machine, bare),
            "plain": lambda: _start(machine, program),
            "file": lambda: _with_file(machine, program),
            "resume": lambda: _start(machine, (*program, "--resume", handle)),
        }
        rounds = [{kind: start() for kind, start in kinds.items()} for _ in range(RUNS)]
        tail = min(_painted(machine, (*program, "--resume", handle)) for _ in range(RUNS))
    best = {kind: _best([each[kind] for each in rounds]) for kind in kinds}
    yield from _rows(best)
    yield _against("start to the painted end of a session, work", tail, best["bare"].work, TAIL_BUDGET)


def _rows(best: dict[str, Start]) -> Iterator[Row]:
    bare, plain = best["bare"], best["plain"]

    yield _against("start to the first key's echo", plain.first, bare.first, BUDGET)
    yield _against("start to the first key's echo, work", plain.work, bare.work, BUDGET)
    yield _against("start, the slowest echo in the first second", plain.slowest, bare.slowest, BUDGET)
    yield _against("start with a configuration file, work", best["file"].work, bare.work, BUDGET_WITH_FILE)
    yield _against("start with --resume, work", best["resume"].work, bare.work, BUDGET_WITH_FILE)


def _against(what: str, seconds: float, of_bare: float, budget: float) -> Row:
    return Row(what, seconds / of_bare, budget, "x", f"{seconds:.2f} s against {of_bare:.2f} s, bare")


def _best(runs: list[Start]) -> Start:
    return Start(*(min(getattr(run, name) for run in runs) for name in Start.__slots__))


def _with_file(machine: Machine, program: tuple[str, ...]) -> Start:
    file = machine.home / "config.yaml"
    file.write_text("ui: {theme: light}\nmodel: {options: {temperature: 0.2}}\n")
    try:
        return _start(machine, program)
    finally:
        file.unlink()


def _start(machine: Machine, program: tuple[str, ...]) -> Start:
    """Type from the start of the process on, for a second at least."""
    begin = time.perf_counter()
    delays: list[float] = []
    with _terminal(machine, program) as terminal:
        for key in KEYS:
            typed = time.perf_counter()
            terminal.send(key)
            terminal.wait_for(partial(_shows, key))
            delays.append(time.perf_counter() - typed)
            if len(delays) == 1:
                work = processor_seconds(terminal.process.pid)
            if time.perf_counter() - begin > 1:
                break
            time.sleep(GAP)
    return Start(delays[0], max(delays), work)


def _shows(key: str, shown: Emulator) -> bool:
    return shown.alternate and key in shown.text


def _painted(machine: Machine, program: tuple[str, ...]) -> float:
    """Processor time until the last answer of a stored session is on the screen."""
    with _terminal(machine, program) as terminal:
        terminal.wait_for(TAIL)
        return processor_seconds(terminal.process.pid)


def _terminal(machine: Machine, program: tuple[str, ...]) -> Terminal:
    """What an earlier run left typed would be asked about."""
    if machine.database.exists():
        with closing(sqlite3.connect(machine.database)) as database, database:
            database.execute("DELETE FROM drafts")
    quiet = ("/bin/sh", "-c", _QUIET, "sh", *program)
    return Terminal(env=machine.environment, cwd=machine.workspace, program=quiet)


def processor_seconds(pid: int) -> float:
    """What all threads of a process have spent so far, by the kernel's clock of it."""
    # As pthread_getcpuclockid makes it: the complement of the id, and 2 for the scheduler's own count.
    return time.clock_gettime((~pid << 3) | 2)


async def _store_session(machine: Machine) -> str:
    store = Store.open(machine.database, program_version=VERSION)
    held = await talk(store, "What is a tree?", root=str(machine.workspace))
    await store.close()

    def says(place: int) -> str:
        return TAIL if place == ENTRIES else "A sentence of an **ordinary** answer, as they are. " * 6

    fill(machine.database, held.info.id, ENTRIES, says=says)
    return held.info.handle
