"""Killed at every point between a call and its saved result, the program can say what was done."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.proofs.kill_runs import Life
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer, Turn, call
from tests.support.terminal import until
from tests.terminal.steps import assert_valid, conversation

GONE_WITHIN = 2.0
"""Seconds from the death of the program to that of everything it ran."""
ASLEEP = "31.41592"
CALLS = {
    "read": call("read", {"path": "notes.txt"}),
    "write": call("write", {"path": "out.txt", "content": "written\n"}),
    "bash": call("bash", {"command": "echo ran >> ran.txt"}),
    "background": call("bash", {"command": f"echo ran >> ran.txt; sleep {ASLEEP}", "background": True}),
}
POINTS = [
    "tool.record:before-commit",
    "tool.record:after-commit",
    "tool.note:before-commit",
    "tool.note:after-commit",
    "tool.note:after-commit:2",
    "tool.start:before-commit",
    "tool.start:after-commit",
    "tool.finish:before-commit",
    "tool.finish:after-commit",
    "turn.settle:before-commit",
]
UNCERTAIN = ("tool.start:after-commit", "tool.finish:before-commit")
MATRIX = [
    (kind, point)
    for kind in CALLS
    for point in POINTS
    if not (kind == "read" and point.startswith("tool.note"))  # nobody is asked about it
]
QUICK = [("read", "tool.finish:before-commit"), ("write", "tool.finish:before-commit")]


def state_after(kind: str, point: str) -> str | None:
    """What the ledger must say at the next start; None where the call was never stored."""
    if point == "tool.record:before-commit":
        return None
    if point in UNCERTAIN:
        return "cancelled" if kind == "read" else "outcome_unknown"
    return "completed" if point.startswith(("tool.finish:after", "turn.settle")) else "cancelled"


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    machine = Machine.make(tmp_path, server.url)
    (machine.workspace / "notes.txt").write_text("Something to read.\n")
    return machine


def left_running() -> list[str]:
    """Command lines of what should not run any more."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if ASLEEP in line and "pytest" not in line:
            found.append(line)
    return found


def times_run(machine: Machine) -> int:
    """How often the command took effect."""
    path = machine.workspace / "ran.txt"
    return len(path.read_text().splitlines()) if path.exists() else 0


def settle(machine: Machine, handle: str) -> None:
    """Look into what is uncertain, and carry out one of the commands that this prints."""
    looked = machine.json("execution", "recover", handle, "--all", "--json")
    (uncertain,) = looked["uncertain"]
    command = uncertain["commands"][0]
    done = subprocess.run(
        ["/bin/sh", "-c", command],
        cwd=machine.workspace,
        env=machine.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stderr}"


def go_on(machine: Machine, server: OllamaServer, handle: str) -> dict[str, Any]:
    """Ask the next question in the session; the receipt of its end."""
    server.script("Going on.")
    life = Life(machine, "go_on", handle)
    life.wait_death()
    (told,) = [line for line in life.told if "ended" in line]
    return told


def prove(machine: Machine, server: OllamaServer, kind: str, point: str) -> None:
    server.script(Turn(CALLS[kind]), "Done.")
    life = Life(machine, "work", crash_at=point)
    life.wait_death()
    assert life.process.returncode == -signal.SIGKILL, f"{point} is not reached\n{life.errors.read_text()}"
    until(lambda: not left_running(), GONE_WITHIN, what="the end of what it ran")
    before = times_run(machine)
    (listed,) = machine.json("session", "list", "--json")
    handle, expected = listed["handle"], state_after(kind, point)
    server.reset()
    blocked = expected == "outcome_unknown"
    ended = go_on(machine, server, handle)
    assert ("execution recover" in ended["ended"]) is blocked, ended
    if blocked:
        settle(machine, handle)
        assert go_on(machine, server, handle)["ended"] == "settled"
    states = machine.query(
        "SELECT kind FROM execution_events WHERE kind != 'job_ended' ORDER BY number DESC LIMIT 1"
    )
    assert [state for (state,) in states] == ([expected] if expected else [])
    assert_valid(conversation(server.chats[-1]))
    assert times_run(machine) == before <= 1, "nothing runs twice"
    written = machine.workspace / "out.txt"
    if kind == "write":
        whole = point.startswith(("tool.finish", "turn.settle"))
        assert (written.read_text() if written.exists() else "") == ("written\n" if whole else "")
    repaired = machine.run("session", "repair", "--json", handle)
    assert repaired.returncode == 0 and json.loads(repaired.stdout)["results_written"] == 0, repaired


@pytest.mark.parametrize(("kind", "point"), QUICK)
def test_a_kill_around_a_call(machine: Machine, server: OllamaServer, kind: str, point: str) -> None:
    prove(machine, server, kind, point)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "point"), MATRIX)
def test_the_kill_matrix(
    machine: Machine, server: OllamaServer, kind: str, point: str, proven: Callable[[str], None]
) -> None:
    prove(machine, server, kind, point)
    proven(
        f"killed in a {kind} at {point}: {state_after(kind, point) or 'never asked for'}; nothing ran twice"
    )
