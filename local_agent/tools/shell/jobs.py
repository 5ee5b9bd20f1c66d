"""The tools that look after commands: read what one writes or wrote, end one in the background."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from local_agent.domain.entries import ToolCall
from local_agent.domain.ledger import Execution
from local_agent.domain.text import one_line
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
from local_agent.tools.shell.commands import Command, Commands
from local_agent.tools.shell.reading import Part, back, front, is_binary
from local_agent.tools.shell.telling import NOTES, ending_line, exit_words
from local_agent.tools.tool import Ready

READ_AT_ONCE = 4
"""Times a result's size: what is written over on its line takes little of it."""

BASH_OUTPUT = ToolSpec(
    "bash_output",
    "Read the output and state of a command by the id that bash gave.",
    {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "The id of the command"},
            "offset": {"type": "integer", "description": "Byte to read from; its last lines unless given"},
        },
        "required": ["id"],
    },
    Effect.READ_ONLY,
    {"id": "3f2a9c01b7de", "offset": 0},
)
BASH_STOP = ToolSpec(
    "bash_stop",
    "Stop a command that runs in the background.",
    {
        "type": "object",
        "properties": {"id": {"type": "string", "description": "The id of the command"}},
        "required": ["id"],
    },
    # It ends only what this conversation started, and what would end with it anyway.
    Effect.READ_ONLY,
    {"id": "3f2a9c01b7de"},
)


@dataclass(frozen=True, slots=True)
class _Source:
    """An output to read from."""

    state: str
    size: int
    """Bytes that were written."""
    read: Callable[[int, int], Awaitable[bytes]]
    """From an offset, at most so many bytes."""
    running: bool = False


class BashOutput:
    """Reads what commands write."""

    spec = BASH_OUTPUT

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look who is meant. Raises ``ToolFailed`` for an id that is none."""
        id = str(call.arguments.get("id", ""))
        await self._source(id)
        return Intent(call, self.spec, Action.READ, one_line(id))

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """Nothing here has hunks."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> Ready:
        """Nothing is to be done before."""

        async def work(around: Surroundings) -> ToolResult:
            source = await self._source(str(intent.call.arguments["id"]))
            offset = intent.call.arguments.get("offset")
            limit = folder.result_bytes - NOTES
            if isinstance(offset, int):
                return _told(source, await _from(source, max(offset, 0), limit), max(offset, 0))
            part, begin = await _last(source, limit)
            return _told(source, part, begin)

        return Ready(work)

    async def _source(self, id: str) -> _Source:
        command = self._commands.find(id)
        if command is not None:
            return self._of(command)
        execution = await self._commands.recorded(id.strip())
        if execution is None or execution.receipt is None:
            raise ToolFailed(self._commands.unknown(id))
        return self._of_earlier(execution)

    def _of(self, command: Command) -> _Source:
        async def read(offset: int, limit: int) -> bytes:
            return await self._commands.read(command, offset, limit)

        return _Source(ending_line(command), command.output.size, read, command.ending is None)

    def _of_earlier(self, execution: Execution) -> _Source:
        receipt = execution.receipt
        assert receipt is not None
        if not receipt.output:
            raise ToolFailed("All that is left of its output is in its result.")

        async def read(offset: int, limit: int) -> bytes:
            return await self._commands.read_stored(receipt.output, offset, limit)

        state = f"ended before this conversation was opened again, exit code {exit_words(receipt.exit_code)}"
        return _Source(state, receipt.size or 0, read)


class BashStop:
    """Ends what runs in the background."""

    spec = BASH_STOP

    def __init__(self, commands: Commands) -> None:
        self._commands = commands

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look who is meant. Raises ``ToolFailed`` for an id that is none."""
        command = self._commands.job(str(call.arguments.get("id", "")))
        return Intent(call, self.spec, Action.TALK, one_line(f"{command.id}: {command.text}"))

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """Nothing here has hunks."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> Ready:
        """Nothing is to be done before."""

        async def work(around: Surroundings) -> ToolResult:
            command = await self._commands.stop_job(str(intent.call.arguments["id"]))
            line = ending_line(command)
            return ToolResult(ResultStatus.OK, f"{command.id}: {line}", line)

        return Ready(work)


async def _from(source: _Source, offset: int, limit: int) -> Part:
    data = await source.read(offset, READ_AT_ONCE * limit)
    return await asyncio.to_thread(front, data, limit, offset)


async def _last(source: _Source, limit: int) -> tuple[Part, int]:
    """The last lines, and where they begin."""
    begin = max(0, source.size - READ_AT_ONCE * limit)
    data = await source.read(begin, READ_AT_ONCE * limit)
    part = await asyncio.to_thread(back, data, limit, begin)
    return part, begin + len(data) - part.used


def _told(source: _Source, part: Part, begin: int) -> ToolResult:
    end = begin + part.used
    if not source.size:
        place = "[no output yet]" if source.running else "[no output]"
    elif begin >= source.size:
        place = f"[nothing from offset {begin} on: there are {source.size:,} bytes]"
    elif not part.used:
        place = f"[{source.size:,} bytes were written; what begins at offset {begin} is not kept]"
    elif end >= source.size:
        place = f"[bytes {begin}-{end} of {source.size:,}: the end{' so far' if source.running else ''}]"
    else:
        place = f"[bytes {begin}-{end} of {source.size:,}: go on with offset={end}]"
    text = part.text if not is_binary(part.text.encode()) else "(binary output)"
    shown = f"{text.removesuffix(chr(10))}\n" if text else ""
    return ToolResult(ResultStatus.OK, f"{source.state}\n{shown}{place}", source.state)
