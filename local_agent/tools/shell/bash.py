"""The tool that runs a command."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import normalise, one_line
from local_agent.domain.tools import (
    Action,
    Effect,
    Intent,
    ResultStatus,
    Surroundings,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.folder import Folder
from local_agent.tools.output import byte_length
from local_agent.tools.shell.commands import Command, Commands
from local_agent.tools.shell.effects import Effects
from local_agent.tools.shell.running import Running
from local_agent.tools.shell.sandbox import Sandbox
from local_agent.tools.shell.surroundings import environment, shell_command
from local_agent.tools.shell.telling import (
    NOTES,
    Shown,
    ending_line,
    output_text,
    status_of,
    summary_of,
)
from local_agent.tools.shell.traces import Traces
from local_agent.tools.tool import Ready

SECONDS = 120
MOST_SECONDS = 3600
MOST_BYTES = 100_000
"""Of a command: systems take no longer words."""
JOB_PATIENCE = 0.3
"""Seconds in which a job that can't run at all shows it."""
STOPPED = ToolResult(ResultStatus.CANCELLED, "Stopped by the person before it was run.", "stopped")
IN_BACKGROUND = "not scanned: it was started in the background"

BASH = ToolSpec(
    "bash",
    "Run a shell command in the workspace folder. Each call begins there: cd does not last to the next one. "
    "No input can be typed.",
    {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command line"},
            "timeout": {
                "type": "integer",
                "description": f"Seconds until it is stopped, {SECONDS} unless given, {MOST_SECONDS} at most",
            },
            "background": {
                "type": "boolean",
                "description": "Keep it running (a server) and return at once with its id for bash_output",
            },
        },
        "required": ["command"],
    },
    Effect.EFFECTFUL,
    {"command": "python -m pytest -q", "timeout": 300},
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a call of ``bash`` asks for."""

    command: str
    limit: int | None
    """Seconds that it may take."""
    background: bool


class Bash:
    """Runs commands under a watcher."""

    spec = BASH

    def __init__(self, commands: Commands, sandbox: Sandbox | None) -> None:
        self._commands = commands
        self._sandbox = sandbox
        self._effects = Effects()

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look at the command. Raises ``ToolFailed`` for one that no shell could get."""
        command = _checked(str(call.arguments.get("command", "")))
        background = bool(call.arguments.get("background", False))
        given = call.arguments.get("timeout")
        limit = min(max(given, 1), MOST_SECONDS) if isinstance(given, int) else None
        if limit is None and not background:
            limit = SECONDS
        asked = _Asked(command, limit, background)
        return Intent(call, self.spec, Action.RUN, one_line(command), command=command, plan=asked)

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """A command has no hunks."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> Ready:
        """Start its watcher, and the process that will become the command."""
        asked = intent.plan
        assert isinstance(asked, _Asked)
        if asked.background:
            self._commands.admit_job()
        env = environment(os.environ)
        words = shell_command(asked.command, env)
        if confined:
            if self._sandbox is None:
                raise ToolFailed("There is no sandbox here to run it in.")
            words = self._sandbox.confined(words)
        running = await Running.prepare(words, folder.root, env)
        command = Command(execution_id, asked.command, running, confined, asked.background, limit=asked.limit)
        facts = {
            "command": asked.command,
            "cwd": str(folder.root),
            "confined": confined,
            "background": asked.background,
            "pid": running.pid,
            "group": running.pid,
            "process_start": running.process_start,
        }

        async def work(around: Surroundings) -> ToolResult:
            if asked.background:
                return await self._background(command, folder, around)
            return await self._foreground(command, folder, around)

        return Ready(work, facts, running.drop)

    async def _foreground(self, command: Command, folder: Folder, around: Surroundings) -> ToolResult:
        try:
            watch = await self._effects.watch(folder, around.stop)
        except BaseException:
            await command.running.drop()
            raise
        if around.stop.is_set():
            await command.running.drop()
            return STOPPED
        shown = Shown(around.progress)
        watch.began()
        try:
            await command.run(around.stop, shown.feed)
        finally:
            shown.finish()
            await watch.close()
        assert command.ending is not None
        traces = Traces() if command.ending.failure else await watch.over(around.stop)
        return await self._result(command, folder, traces)

    async def _background(self, command: Command, folder: Folder, around: Surroundings) -> ToolResult:
        if not await self._commands.start_job(command, JOB_PATIENCE, around.stop):
            return await self._result(command, folder, Traces(unscanned=IN_BACKGROUND))
        text = (
            f"Runs in the background with the id {command.id}. "
            f'bash_output id="{command.id}" reads what it writes, bash_stop id="{command.id}" ends it.'
        )
        return ToolResult(ResultStatus.OK, text, f"job {command.id}", unscanned=IN_BACKGROUND)

    async def _result(self, command: Command, folder: Folder, traces: Traces) -> ToolResult:
        ending, output = command.ending, command.output
        assert ending is not None
        if ending.failure:
            raise ToolFailed(f"The command was not run: {os.strerror(ending.failure)} ({command.text[:80]}).")
        room = folder.result_bytes - NOTES
        text, cut = await asyncio.to_thread(output_text, output, command.id, room)
        self._commands.enter(command)
        # What was cleaned away for the model is there for the person.
        if output.size and (cut or text.encode() != output.whole):
            await self._commands.keep(command)
        notes = []
        if output.lost:
            notes.append(f"[{one_line(output.lost, 160)}]")
        if command.confined and status_of(command) is ResultStatus.FAILED:
            notes.append(
                "[it ran in a sandbox: no network, no home folder, only the workspace can be written]"
            )
        if traces.line:
            notes.append(traces.line)
        return ToolResult(
            status_of(command),
            "\n".join([ending_line(command), text.removesuffix("\n") if notes else text, *notes]),
            summary_of(command),
            exit_code=ending.exit_code,
            size=output.size if command.digest or cut else None,
            output=command.digest,
            changes=traces.changes,
            sizes=traces.sizes,
            unscanned=traces.unscanned,
        )


def _checked(command: str) -> str:
    command = normalise(command)
    if not command.strip():
        raise ToolFailed("The command is empty.")
    if "\0" in command:
        raise ToolFailed("The command holds a NUL character, which no command can.")
    if (size := byte_length(command)) > MOST_BYTES:
        raise ToolFailed(
            f"The command has {size:,} bytes, {MOST_BYTES:,} at most. Write it to a file and run that."
        )
    return command
