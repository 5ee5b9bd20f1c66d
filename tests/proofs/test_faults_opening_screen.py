"""What a person sees, on the screen and the command line, when the database can't be opened as it should."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_agent.store.store import Store
from tests.proofs.test_faults_opening import EXCLUSIVE, Holder, closed_folder, digests, head_is_gone
from tests.store.samples import VERSION, talk
from tests.support.machine import Machine
from tests.support.ollama_server import OllamaServer
from tests.support.permissions import BOUND_BY_MODES
from tests.support.terminal import Key, Terminal, patience
from tests.terminal.steps import LEAVING_LIMIT, drawn

BOUND = (sys.executable, "-c", BOUND_BY_MODES, "-m", "local_agent")


@pytest.fixture
def machine(tmp_path: Path, server: OllamaServer) -> Machine:
    made = Machine.make(tmp_path, server.url)
    temporary = made.person / "temporary"
    temporary.mkdir()
    made.variables["TMPDIR"] = str(temporary)
    return made


@pytest.fixture
def handle(machine: Machine) -> str:
    """A session of the folder that the program is started in."""

    async def said() -> str:
        store = Store.open(machine.database, program_version=VERSION)
        held = await talk(store, "What is a tree?", root=str(machine.workspace.resolve()))
        await store.close()
        return held.info.handle

    return asyncio.run(said())


def bound(machine: Machine, *arguments: str) -> Terminal:
    return Terminal(arguments, env=machine.environment, cwd=machine.workspace, size=(100, 30), program=BOUND)


def ran(machine: Machine, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [*BOUND, *arguments],
        cwd=machine.workspace,
        env=machine.environment,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=120,
    )
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) <= 1, done.stderr
    return done


@pytest.mark.terminal
def test_a_closed_folder_is_read_on_the_screen(machine: Machine, handle: str) -> None:
    closed_folder(machine.database)
    before = digests(machine.home)
    with bound(machine, "--resume", handle) as terminal:
        terminal.wait_for(("❯ try again", "read what is there"))
        assert f"{machine.home}can'tbewritten." in "".join(terminal.text.split())
        terminal.send("r")
        terminal.wait_for("On What is a tree?")
        terminal.wait_for("READ-ONLY")
        terminal.send("And a bush?", Key.ENTER)
        terminal.wait_for("Only a copy is read here.")
        terminal.wait_for("And a bush?")
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()
    assert digests(machine.home) == before
    assert list((machine.person / "temporary").iterdir()) == []


@pytest.mark.slow
def test_a_closed_folder_is_read_on_the_command_line(machine: Machine, handle: str) -> None:
    closed_folder(machine.database)
    listed = ran(machine, "session", "list")
    assert listed.returncode == 0 and handle in listed.stdout
    assert f"{machine.home} can't be written. This is read from a copy." in listed.stderr
    shown = ran(machine, "session", "show", handle)
    assert shown.returncode == 0 and "On What is a tree?" in shown.stdout
    for refused in (("-p", "Hello?"), ("session", "rename", handle, "No")):
        done = ran(machine, *refused)
        assert done.returncode == 1 and not done.stdout
        assert f"{machine.home} can't be written. Make it writable" in done.stderr
    ill = ran(machine, "doctor")
    assert ill.returncode == 1 and f"{machine.home} can't be written." in ill.stdout
    assert list((machine.person / "temporary").iterdir()) == []


@pytest.mark.slow
@pytest.mark.terminal
def test_a_damaged_file_is_set_aside_with_consent(
    machine: Machine, handle: str, server: OllamaServer
) -> None:
    server.script("Hello.")
    head_is_gone(machine.database)
    before = digests(machine.home)
    with machine.terminal(size=(100, 30)) as terminal:
        terminal.wait_for(("❯ try again", "set the damaged file aside"))
        assert "is damaged." in terminal.text and "read what is there" not in terminal.text
        assert digests(machine.home) == before
        terminal.send(Key.DOWN)
        terminal.send(Key.ENTER)
        terminal.wait_for("is kept as")
        terminal.send("Hi", Key.ENTER)
        terminal.wait_for("Hello.")
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()
    after = digests(machine.home)
    (aside,) = (name for name in after if name.startswith("local-agent-damaged-"))
    assert after[aside] == before["local-agent.db"]
    assert len(machine.json("session", "list", "--json")) == 1


@pytest.mark.terminal
def test_a_locked_database_is_waited_for_in_sight_and_can_be_left(machine: Machine, handle: str) -> None:
    with Holder(machine.database, EXCLUSIVE), machine.terminal(size=(100, 30)) as terminal:
        terminal.wait_for(drawn)
        terminal.wait_for("the database is in use, waiting")
        terminal.send("still typing")
        terminal.wait_for("still typing")
        begun = time.monotonic()
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
        assert time.monotonic() - begun < patience(LEAVING_LIMIT)
        terminal.assert_restored()


@pytest.mark.slow
@pytest.mark.terminal
def test_a_database_that_was_locked_for_20_seconds_opens(machine: Machine, handle: str) -> None:
    holder = Holder(machine.database, EXCLUSIVE)
    until = time.monotonic() + 20
    with holder, machine.terminal(size=(100, 30)) as terminal:
        terminal.wait_for("the database is in use, waiting")
        time.sleep(max(0.0, until - time.monotonic()))  # the length of the fault is the point
        assert "the database is in use, waiting" in terminal.text
        holder.let_go()
        terminal.wait_for(handle)
        terminal.send(Key.CTRL_Q)
        assert terminal.wait_exit() == 0
