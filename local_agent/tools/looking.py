"""Tools that only look: a blocking function in a thread, told to end when the person wants an end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import one_line
from local_agent.domain.tools import (
    Action,
    Intent,
    ReadyTool,
    ResultStatus,
    Surroundings,
    ToolFailed,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.folder import Folder
from local_agent.tools.tool import Ready

Plan = TypeVar("Plan")

STOPPED = ToolResult(ResultStatus.CANCELLED, "Stopped by the person.", "stopped")


class Aim(NamedTuple, Generic[Plan]):
    """What a call looks at."""

    target: str
    plan: Plan
    outside: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LookingTool(Generic[Plan]):
    """A read-only tool out of two functions, both of which may block on the disk."""

    spec: ToolSpec
    aim: Callable[[Mapping[str, object], Folder], Aim[Plan]]
    """Finds out what a call would look at, and opens nothing outside the workspace."""
    look: Callable[[Plan, Folder, threading.Event], ToolResult]
    """Looks; ends soon once the event is set. Raises ``ToolFailed`` or ``OSError``."""

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Find out what it would look at."""
        aim = await asyncio.to_thread(self.aim, call.arguments, folder)
        return Intent(
            call, self.spec, Action.READ, one_line(aim.target, 200), outside=aim.outside, plan=aim.plan
        )

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """It has no diff."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> ReadyTool:
        """There is nothing to prepare."""
        plan: Plan = intent.plan  # type: ignore[assignment]  # it is what this tool's own ``aim`` gave
        return Ready(partial(self._run, plan, folder, intent.target))

    async def _run(self, plan: Plan, folder: Folder, target: str, around: Surroundings) -> ToolResult:
        ended = threading.Event()
        looking = asyncio.create_task(asyncio.to_thread(self.look, plan, folder, ended))
        stopping = asyncio.create_task(around.stop.wait())
        try:
            await asyncio.wait((looking, stopping), return_when=asyncio.FIRST_COMPLETED)
            return looking.result() if looking.done() else STOPPED
        except OSError as error:
            raise ToolFailed(f"{target} can't be read: {error.strerror or type(error).__name__}.") from error
        finally:
            ended.set()
            stopping.cancel()
            # A thread can't be cancelled: it ends by itself, and nobody waits for what it says.
            looking.add_done_callback(_heard)


def _heard(task: asyncio.Task[ToolResult]) -> None:
    if not task.cancelled():
        task.exception()
