"""Runs commands through the tools as the loop does, and looks at what runs on this machine."""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import ReadyTool, ToolFailed, ToolResult
from local_agent.objects.store import ObjectFolder
from local_agent.tools.box import Box
from local_agent.tools.folder import Folder
from local_agent.tools.shell.commands import Command, Commands
from local_agent.tools.shell.sandbox import Sandbox
from local_agent.tools.shell.tools import shell_tools
from tests.tools.calling import Around

PATIENCE = 10.0


class Shell:
    """The shell of a conversation in ``root``; outputs are kept beside it."""

    def __init__(self, root: Path, result_bytes: int = 8_192, sandbox: Sandbox | None = None) -> None:
        self.root = root.resolve()
        self.outputs = ObjectFolder(self.root.parent / "outputs")
        self.ended: list[Command] = []
        self.commands = Commands(self.outputs, self._note_end)
        folder = Folder(root, self.outputs, result_bytes)
        self.box = Box(folder, shell_tools(self.commands, sandbox))
        self._calls = 0

    async def _note_end(self, command: Command) -> None:
        self.ended.append(command)

    async def ready(self, name: str, *, confined: bool = False, **arguments: object) -> ReadyTool:
        self._calls += 1
        intent = await self.box.prepare(ToolCall(f"call-{self._calls}", name, arguments))
        return await self.box.ready(intent, f"{self._calls:012x}", confined=confined)

    async def call(self, name: str, around: Around | None = None, **arguments: object) -> ToolResult:
        return await (await self.ready(name, **arguments)).run(around or Around())

    async def bash(self, command: str, around: Around | None = None, **arguments: object) -> ToolResult:
        return await self.call("bash", around, command=command, **arguments)

    async def job(self, command: str, **arguments: object) -> str:
        """Start a job that stays; its id."""
        result = await self.bash(command, background=True, **arguments)
        assert result.summary.startswith("job "), result.text
        return result.summary.removeprefix("job ")

    async def failure(self, name: str, **arguments: object) -> str:
        """The sentence that the model reads of a call that can't be carried out."""
        try:
            result = await self.call(name, **arguments)
        except ToolFailed as failed:
            return str(failed)
        raise AssertionError(f"it worked: {result}")


async def until(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for a state of the machine; fails when it does not come."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it did not come to that"
        await asyncio.sleep(0.01)


def asleep(name: str) -> list[int]:
    """The processes of this machine that sleep for ``name`` seconds, a number that names them."""
    command = ["ps", "-A", "-o", "pid=,stat=,args="]
    rows = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    fields = [row.split(None, 2) for row in rows]
    return [int(pid) for pid, state, args in fields if state[0] != "Z" and args == f"sleep {name}"]


def a_sleep() -> str:
    """Seconds that no other process of this machine sleeps for."""
    return f"3{os.getpid()}.{time.monotonic_ns()}"
