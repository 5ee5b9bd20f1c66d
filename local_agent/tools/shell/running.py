"""A command under its watcher: ready before it runs, read while it runs, ended whatever it does."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from local_agent.domain.tools import ToolFailed
from local_agent.store.processes import start_of

WATCHER = Path(__file__).with_name("watcher.py")
LOST_SECONDS = 2.5
"""From the word to end until the watcher must have said what came of it."""
CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Ending:
    """How a command came to its end."""

    exit_code: int | None
    """As a shell counts: 128 and the signal's number for a death by signal; None when that is not known."""
    seconds: float
    left: int = 0
    """Processes that it had left behind, and that were ended with it."""
    remaining: int = 0
    """Processes that could not be ended."""
    failure: int = 0
    """The error number with which it could not be started."""

    @property
    def reaped(self) -> bool:
        """True when nothing of it runs any more."""
        return self.remaining == 0


@dataclass(slots=True)
class Running:
    """One command. ``prepare`` it, ``go``, read ``output`` to its end, wait for ``ended``."""

    process: asyncio.subprocess.Process
    pid: int
    """Of the command itself, which leads its process group and kernel session."""
    process_start: str
    """When it began, as the system counts; tells it from another one that gets its number later."""
    began: float = field(default_factory=time.monotonic)
    _ending: asyncio.Task[Ending] | None = None

    @classmethod
    async def prepare(cls, command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Running:
        """Start the watcher: the process is there, and runs nothing. Raises ``ToolFailed``."""
        try:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                str(WATCHER),
                *command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                cwd=cwd,
                env=env,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ToolFailed(_not_started(error, cwd)) from error
        assert process.stdout is not None
        word, _, pid = (await process.stdout.readline()).decode().partition(" ")
        if word != "ready":
            said = await output_of(process).read(2_000)
            await process.wait()
            raise ToolFailed(f"The command was not started: {said.decode('utf-8', 'replace').strip()}")
        return cls(process, int(pid), await asyncio.to_thread(start_of, int(pid)))

    def go(self) -> None:
        """Let it begin."""
        self.began = time.monotonic()
        self._say(b"g")
        self._ending = asyncio.create_task(self._reports())

    @property
    def output(self) -> asyncio.StreamReader:
        """What it writes, standard output and error in their order."""
        return output_of(self.process)

    async def ended(self) -> Ending:
        """Wait for the end of it and of everything it started; any number may wait."""
        assert self._ending is not None, "it was never let go"
        return await asyncio.shield(self._ending)

    async def stop(self, *, hastily: bool = True) -> Ending:
        """End it: TERM, then KILL after a moment. Takes 2.5 s at most, whatever it does."""
        self._say(b"s" if hastily else b"t")
        try:
            return await asyncio.wait_for(self.ended(), LOST_SECONDS)
        except TimeoutError:
            return self._lost()

    async def drop(self) -> None:
        """It won't be run."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        await self.process.wait()

    def _say(self, word: bytes) -> None:
        assert self.process.stdin is not None
        with suppress(ConnectionError, RuntimeError):  # the watcher has gone already, and has said why
            self.process.stdin.write(word)

    async def _reports(self) -> Ending:
        assert self.process.stdout is not None
        exit_code, failure = None, 0
        while line := await self.process.stdout.readline():
            word, *numbers = line.decode().split()
            match word:
                case "failed":
                    failure = int(numbers[0])
                case "ended":
                    status = os.waitstatus_to_exitcode(int(numbers[0]))
                    exit_code = status if status >= 0 else 128 - status
                case "gone":
                    left, remaining = map(int, numbers)
                    await self.process.wait()
                    return Ending(exit_code, time.monotonic() - self.began, left, remaining, failure)
        return self._lost(exit_code)

    def _lost(self, exit_code: int | None = None) -> Ending:
        """The watcher is gone or does not answer. What it watched is killed as far as it is known."""
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)
        with suppress(ProcessLookupError):
            self.process.kill()
        return Ending(exit_code, time.monotonic() - self.began, remaining=1)


def output_of(process: asyncio.subprocess.Process) -> asyncio.StreamReader:
    """The watcher's standard error is the output of what it runs."""
    assert process.stderr is not None
    return process.stderr


def _not_started(error: OSError | ValueError, cwd: Path) -> str:
    if isinstance(error, ValueError):
        return "The command holds a NUL character, which no command can."
    if error.errno == errno.E2BIG:
        return "The command is too long for this system. Write it to a file and run that."
    if not cwd.is_dir():
        return f"The workspace is gone: {cwd} is no folder any more."
    return f"No command can be started: {error.strerror}."
