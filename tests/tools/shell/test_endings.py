"""Whatever a command does, it ends when it shall, and everything that it started ends with it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local_agent.domain.tools import ResultStatus
from local_agent.tools.shell import running as running_module
from tests.support.crash import ROOT
from tests.tools.calling import Around
from tests.tools.shell.shells import Shell, a_sleep, asleep, until

LINUX = sys.platform.startswith("linux")
DAEMON = (
    "import os, time\n"
    "if os.fork(): os._exit(0)\n"
    "os.setsid()\n"
    "if os.fork(): os._exit(0)\n"
    "os.execvp('sleep', ['sleep', '{name}'])"
)
TWO_SECONDS = 2.0
"""It takes 0.4; tests wait twice as long for slow machines."""
OUTLIVING = [
    pytest.param("sleep {name}", id="the command"),
    pytest.param("sleep {name} & sleep {name} & wait", id="forks"),
    pytest.param("trap '' TERM INT HUP; sleep {name} & while true; do sleep {name}; done", id="ignores TERM"),
    pytest.param("sleep {name} & kill -STOP $$; wait", id="stopped itself"),
    pytest.param(
        f'{sys.executable} -c "{DAEMON}"; sleep {{name}}',
        id="daemonises",
        marks=pytest.mark.skipif(not LINUX, reason="nothing leads to a daemon there"),
    ),
    pytest.param(
        "(setsid sh -c 'trap \"\" TERM; sleep {name}; sleep {name}' &); sleep {name}",
        id="another session, ignoring TERM",
        marks=pytest.mark.skipif(not LINUX, reason="there is no setsid there"),
    ),
]


@pytest.mark.parametrize("command", OUTLIVING)
async def test_a_stop_ends_all_of_it_at_once(shell: Shell, command: str) -> None:
    name, around = a_sleep(), Around()
    running = asyncio.create_task(shell.bash(command.replace("{name}", name), around))
    await until(lambda: asleep(name))

    began = time.monotonic()
    around.stop.set()
    result = await running
    took = time.monotonic() - began

    assert result.status is ResultStatus.CANCELLED
    assert "effects until then stand" in result.text
    assert result.summary == "stopped"
    assert asleep(name) == []
    assert took < 2, "it takes 0.1 s; the rest is for a slow machine"


async def test_what_its_time_limit_ends_says_so_and_keeps_what_was_written(shell: Shell) -> None:
    name = a_sleep()
    result = await shell.bash(f"echo before; sleep {name}", timeout=1)

    assert result.status is ResultStatus.CANCELLED
    assert result.text.startswith("stopped after 1.")
    assert result.summary == "stopped at its time limit"
    assert "its time limit; effects until then stand\nbefore" in result.text
    assert asleep(name) == []


async def test_what_a_command_leaves_running_ends_with_it_and_that_is_said(shell: Shell) -> None:
    name = a_sleep()
    result = await shell.bash(f"sleep {name} & echo started")

    assert (result.status, result.exit_code) == (ResultStatus.OK, 0)
    assert "a process that it had left running was ended" in result.text
    assert asleep(name) == []


async def test_what_ends_by_itself_a_moment_later_is_waited_for(shell: Shell) -> None:
    result = await shell.bash("(sleep 0.05; echo late) & echo early")

    assert result.text.endswith("\nearly\nlate\n")
    assert "ended" not in result.text


async def test_nothing_runs_before_the_word_or_without_it(shell: Shell) -> None:
    ready = await shell.ready("bash", command="touch made")
    pid = int(str(ready.facts["pid"]))

    assert ready.facts["group"] == os.getpgid(pid) == pid
    assert ready.facts["cwd"] == str(shell.root)
    assert ready.facts["command"] == "touch made"
    assert ready.facts["process_start"]
    await ready.drop()

    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert list(shell.root.iterdir()) == []


async def test_the_process_that_was_announced_is_the_one_that_runs(shell: Shell) -> None:
    ready = await shell.ready("bash", command="echo $$")
    result = await ready.run(Around())

    assert result.text.endswith(f"\n{ready.facts['pid']}\n")


async def test_a_cancelled_turn_leaves_nothing(shell: Shell) -> None:
    name = a_sleep()
    running = asyncio.create_task(shell.bash(f"trap '' TERM; sleep {name}; sleep {name}"))
    await until(lambda: asleep(name))

    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running

    assert asleep(name) == []


async def test_a_watcher_that_is_killed_takes_the_command_along_and_the_outcome_is_unknown(
    shell: Shell,
) -> None:
    name = a_sleep()
    running = asyncio.create_task(shell.bash(f"sleep {name}"))
    await until(lambda: asleep(name))
    (pid,) = asleep(name)

    os.kill(_parent(pid), signal.SIGKILL)
    result = await running

    assert result.status is ResultStatus.UNCERTAIN
    await until(lambda: not asleep(name))


async def test_a_watcher_that_does_not_answer_is_given_up(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running_module, "LOST_SECONDS", 0.3)
    name, around = a_sleep(), Around()
    running = asyncio.create_task(shell.bash(f"sleep {name}", around))
    await until(lambda: asleep(name))
    (pid,) = asleep(name)

    os.kill(_parent(pid), signal.SIGSTOP)
    around.stop.set()
    result = await running

    assert result.status is ResultStatus.UNCERTAIN
    assert "can't be killed" in result.text
    await until(lambda: not asleep(name))


async def test_what_is_killed_before_the_word_has_not_run(shell: Shell) -> None:
    ready = await shell.ready("bash", command="touch made")
    os.kill(int(str(ready.facts["pid"])), signal.SIGKILL)
    result = await ready.run(Around())

    assert (result.status, result.exit_code) == (ResultStatus.FAILED, 137)
    assert list(shell.root.iterdir()) == []


def _parent(pid: int) -> int:
    said = subprocess.run(["ps", "-o", "ppid=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(said.stdout)


async def _run_for_good(root: Path, command: str) -> None:
    shell = Shell(root)
    await shell.job(command)
    await shell.bash(command)


def run_for_good(root: str, command: str) -> None:
    """In a process of its own: the same command as a job and in the foreground."""
    asyncio.run(_run_for_good(Path(root), command))


def in_a_program_of_its_own(folder: Path, command: str) -> subprocess.Popen[bytes]:
    call = f"from {__name__} import run_for_good as f; f({str(folder)!r}, {command!r})"
    return subprocess.Popen([sys.executable, "-c", call], cwd=ROOT)


@pytest.mark.parametrize("command", OUTLIVING)
async def test_nothing_outlives_a_killed_program_by_two_seconds(tmp_path: Path, command: str) -> None:
    name = a_sleep()
    program = in_a_program_of_its_own(tmp_path, command.replace("{name}", name))
    try:
        await until(lambda: len(asleep(name)) >= 2)
    finally:
        program.kill()
        program.wait()

    await until(lambda: not asleep(name), 2 * TWO_SECONDS)


@pytest.mark.skipif(not LINUX, reason="there a command outlives the death of all who watch it")
async def test_the_command_dies_with_its_watcher_when_nobody_else_is_there(tmp_path: Path) -> None:
    name = a_sleep()
    program = in_a_program_of_its_own(tmp_path, f"sleep {name}")
    try:
        await until(lambda: len(asleep(name)) == 2)
        program.send_signal(signal.SIGSTOP)
        for watcher in [_parent(pid) for pid in asleep(name)]:
            os.kill(watcher, signal.SIGKILL)
        await until(lambda: not asleep(name))
    finally:
        program.kill()
        program.wait()
