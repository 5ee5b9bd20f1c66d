"""The commands of one conversation: what runs, what has run, and jobs in the background."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import StrEnum

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import Execution
from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed
from local_agent.objects.store import Objects
from local_agent.tools.shell.collecting import Collected
from local_agent.tools.shell.running import CHUNK, Ending, Running

MOST_JOBS = 8
LAST_OUTPUT_SECONDS = 0.5
"""How long what is left in the pipe may take once everything has ended."""
CLOSE_SECONDS = 1.0
MOST_KNOWN = 64
"""Ended commands that are remembered; the ledger has all of them."""


class Cause(StrEnum):
    """What ended a command."""

    ITSELF = "itself"
    STOP = "stop"
    """The person, or the model with ``bash_stop``."""
    LIMIT = "limit"
    """Its time was up."""
    EXIT = "exit"
    """The conversation was closed."""


@dataclass(slots=True)
class Command:
    """One command, running or ended."""

    id: str
    """Of its execution."""
    text: str
    running: Running
    confined: bool = False
    background: bool = False
    limit: float | None = None
    """Seconds that it may take."""
    output: Collected = field(default_factory=Collected)
    cause: Cause = Cause.ITSELF
    ending: Ending | None = None
    """None while it runs."""
    digest: str = ""
    """Of its whole output in the store, once that has been put there."""

    @property
    def seconds(self) -> float:
        """How long it has run."""
        return self.ending.seconds if self.ending else time.monotonic() - self.running.began

    async def run(self, stop: asyncio.Event, show: Callable[[bytes], None] | None = None) -> Ending:
        """Let it begin, collect what it writes, and see it to its end."""
        self.running.go()
        pumping = asyncio.create_task(self._pump(show))
        try:
            self.ending = await self._end(stop)
            # Somebody who could not be ended may hold the pipe open for good.
            await asyncio.wait({pumping}, timeout=LAST_OUTPUT_SECONDS if self.ending.reaped else 0)
        except asyncio.CancelledError:
            self.ending = await self.running.stop()
            raise
        finally:
            pumping.cancel()
        return self.ending

    async def _end(self, stop: asyncio.Event) -> Ending:
        ended = asyncio.create_task(self.running.ended())
        stopping = asyncio.create_task(stop.wait())
        either = asyncio.FIRST_COMPLETED
        try:
            await asyncio.wait({ended, stopping}, timeout=self.limit, return_when=either)
            if ended.done():
                self.cause = Cause.ITSELF
                return ended.result()
            if self.cause is Cause.ITSELF:
                self.cause = Cause.STOP if stopping.done() else Cause.LIMIT
            return await self.running.stop(hastily=stopping.done())
        finally:
            ended.cancel()
            stopping.cancel()

    async def _pump(self, show: Callable[[bytes], None] | None) -> None:
        while data := await self.running.output.read(CHUNK):
            await self.output.feed(data)
            if show is not None:
                show(data)


@dataclass(slots=True)
class _Job:
    """A command in the background, and what ends it."""

    command: Command
    stop: asyncio.Event
    task: asyncio.Task[None]


class Commands:
    """Commands by the id of their execution. ``close`` ends what still runs.

    ``on_end`` hears of the end of each job, also of those that ``close`` ends. ``recorded`` finds an
    execution of an earlier life of the conversation, whose output is read from the store.
    """

    def __init__(
        self,
        outputs: Objects,
        on_end: Callable[[Command], Awaitable[None]] | None = None,
        recorded: Callable[[str], Awaitable[Execution | None]] | None = None,
    ) -> None:
        self.outputs = outputs
        self._on_end = on_end
        self._recorded = recorded
        self._known: dict[str, Command] = {}
        self._jobs: dict[str, _Job] = {}

    @property
    def jobs(self) -> tuple[Command, ...]:
        """What runs in the background, oldest first."""
        return tuple(job.command for job in self._jobs.values())

    def admit_job(self) -> None:
        """Raise ``ToolFailed`` when no more may run in the background."""
        if len(self._jobs) >= MOST_JOBS:
            ids = ", ".join(self._jobs)
            raise ToolFailed(f"{MOST_JOBS} commands run in the background. End one with bash_stop: {ids}.")

    def enter(self, command: Command) -> None:
        """Remember a command, so that its output can be asked for."""
        self._known[command.id] = command
        ended = [id for id, known in self._known.items() if known.ending is not None]
        for id in ended[:-MOST_KNOWN]:
            self._known.pop(id).output.close()

    async def start_job(self, command: Command, patience: float, stop: asyncio.Event) -> bool:
        """Run a command in the background; False when it has come to its end within ``patience`` seconds.

        ``stop`` counts until then.
        """
        end = asyncio.Event()
        running = asyncio.create_task(command.run(end))
        stopping = asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({running, stopping}, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if stop.is_set():
                end.set()
                await asyncio.wait({running})
        except asyncio.CancelledError:
            running.cancel()
            raise
        finally:
            stopping.cancel()
        if running.done():
            running.result()
            return False
        task = asyncio.create_task(self._see_to_its_end(command, running))
        self._jobs[command.id] = _Job(command, end, task)
        self.enter(command)
        return True

    async def _see_to_its_end(self, command: Command, running: asyncio.Task[Ending]) -> None:
        try:
            await running
            await self.keep(command)
        finally:
            self._jobs.pop(command.id, None)
        if self._on_end is not None:
            await self._on_end(command)

    async def keep(self, command: Command) -> None:
        """Put the whole output of an ended command into the store."""
        command.digest = await command.output.keep(self.outputs)
        if command.digest:
            command.output.close()

    async def read(self, command: Command, offset: int, limit: int) -> bytes:
        """Some of what a command has written. Raises ``ToolFailed`` when that is lost."""
        if not command.digest:
            return await command.output.read(offset, limit)
        return await self.read_stored(command.digest, offset, limit)

    async def read_stored(self, digest: str, offset: int, limit: int) -> bytes:
        """The same of an output in the store."""
        try:
            whole = await asyncio.to_thread(self.outputs.get, digest)
        except LocalAgentError as error:
            raise ToolFailed("The output is not there any more.") from error
        return whole[offset : offset + limit]

    def job(self, id: str) -> Command:
        """What runs, or ran, in the background. Raises ``ToolFailed`` when no job has this id."""
        command = self.find(id)
        if command is None or not command.background:
            raise ToolFailed(self.unknown(id, jobs_only=True))
        return command

    async def stop_job(self, id: str) -> Command:
        """End a job; what it is then. Raises ``ToolFailed`` when no job has this id."""
        command = self.job(id)
        if job := self._jobs.get(command.id):
            job.stop.set()
            await asyncio.wait({job.task})
        return command

    def find(self, id: str) -> Command | None:
        """By id, or by the beginning of one."""
        wanted = id.strip().lower()
        found = [command for known, command in self._known.items() if wanted and known.startswith(wanted)]
        return found[0] if len(found) == 1 else None

    async def recorded(self, id: str) -> Execution | None:
        """What the ledger has of a command of an earlier life."""
        return await self._recorded(id) if self._recorded is not None else None

    def unknown(self, id: str, *, jobs_only: bool = False) -> str:
        """The sentence for an id that is none, with those there are."""
        known = [command.id for command in self._known.values() if command.background or not jobs_only]
        what = "job" if jobs_only else "command"
        return f'No {what} has the id "{one_line(id, 40)}". ' + (
            f"There are: {', '.join(known[-8:])}." if known else f"No {what} has run yet."
        )

    async def close(self) -> None:
        """End all jobs, within a second; their ends are told as of any other."""
        jobs = list(self._jobs.values())
        for job in jobs:
            job.command.cause = Cause.EXIT
            job.stop.set()
        if jobs:
            await asyncio.wait({job.task for job in jobs}, timeout=CLOSE_SECONDS)
        for command in self._known.values():
            command.output.close()
