"""A disk that is really full, under the whole program: what a person sees, and what is left."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, say
from tests.support.terminal import Key
from tests.terminal.steps import LEAVING_LIMIT, ask, farewell, leave

pytestmark = pytest.mark.terminal

LONG = " ".join(str(number * number) for number in range(2_000))
VERY_LONG = LONG * 12
"""More than is free on the disk once it is filled but for what opening the database takes."""
OPENING = 128 << 10


class SmallDisk:
    """A file system of 4 MB in memory, with the program's home on it."""

    def __init__(self, folder: Path) -> None:
        self._filler = folder / "filler"

    def fill(self, spare: int = 0) -> None:
        """Leave ``spare`` bytes."""
        with self._filler.open("wb") as file:
            free = os.statvfs(file.fileno())
            file.write(bytes(max(0, free.f_bavail * free.f_frsize - spare)))

    def free(self) -> None:
        self._filler.unlink()


@pytest.fixture
def disk(tmp_path: Path, server: OllamaServer) -> Iterator[tuple[Machine, SmallDisk]]:
    """A machine whose home lies on a small disk of its own; mounting one needs root."""
    machine = Machine.make(tmp_path, server.url)
    machine.home.mkdir(parents=True, mode=0o700)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    machine.variables["TMPDIR"] = str(temporary)
    mount = ["mount", "-t", "tmpfs", "-o", "size=4m,mode=0700", "none", str(machine.home)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("only root can mount a small disk; SQLite's own limit stands for it in the other proofs")
    try:
        yield machine, SmallDisk(machine.home)
    finally:
        subprocess.run(["umount", "--lazy", str(machine.home)], check=True)


def stored(machine: Machine) -> list[str]:
    with closing(sqlite3.connect(machine.database)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return [text for (text,) in db.execute("SELECT text FROM entries ORDER BY id")]


def test_a_full_disk_in_a_terminal(
    disk: tuple[Machine, SmallDisk], server: OllamaServer, proven: Callable[[str], None]
) -> None:
    machine, small = disk
    server.script("Before.", Turn(say(LONG, chunking="whole")), "After.")
    with machine.terminal(size=(100, 30)) as terminal:
        ask(terminal, "First?")
        terminal.wait_for("Before.")
        small.fill()
        ask(terminal, "Second?")
        terminal.wait_for(("Not saved: The disk is full.", "❯ try again"))
        terminal.send("u")
        terminal.wait_for(lambda shown: "NOT SAVED" in shown.text and "go on unsaved" not in shown.text)
        small.free()
        ask(terminal, "Third?")
        terminal.wait_for("After.")
        terminal.wait_for(lambda shown: "NOT SAVED" not in shown.text)
        leave(terminal)
        assert farewell(terminal)["handle"]
    assert stored(machine) == ["First?", "Before.", "Second?", LONG, "Third?", "After."]
    proven(
        "a tmpfs full in mid-session, in a terminal: NOT SAVED shown, everything written in order after it"
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["quit", "TERM", "KILL"])
def test_the_end_while_the_disk_is_full(
    how: str, disk: tuple[Machine, SmallDisk], server: OllamaServer
) -> None:
    machine, small = disk
    server.script("Before.", Turn(say(LONG, chunking="whole")))
    with machine.terminal(size=(200, 30)) as terminal:
        ask(terminal, "First?")
        terminal.wait_for("Before.")
        small.fill()
        ask(terminal, "Second?")
        terminal.wait_for(("Not saved: The disk is full.", "❯ try again"))
        terminal.send("u")
        terminal.wait_for(lambda shown: "NOT SAVED" in shown.text and "go on unsaved" not in shown.text)
        match how:
            case "quit":
                terminal.send(Key.CTRL_Q)
            case _:
                terminal.signal(signal.Signals[f"SIG{how}"])
        terminal.wait_exit(LEAVING_LIMIT)
        said = " ".join(terminal.text.split())
        if how != "KILL":
            terminal.assert_restored()
    assert stored(machine) == ["First?", "Before."]
    if how != "KILL":
        assert "What could not be saved is in" in said
        kept = Path(said.rpartition(" ")[2]).read_text("utf-8")
        assert "Second?" in kept and LONG in kept


@pytest.mark.slow
def test_a_full_disk_under_p(disk: tuple[Machine, SmallDisk], server: OllamaServer) -> None:
    machine, small = disk
    server.script("Before.", Turn(say(VERY_LONG, chunking="whole")))
    assert machine.run("-p", "First?").returncode == 0
    small.fill(OPENING)
    done = machine.run("-p", "Second?")
    assert (done.returncode, done.stdout.strip()) == (1, VERY_LONG)
    assert "Not saved: The disk is full. Free some space" in done.stderr
    assert "Traceback" not in done.stderr
