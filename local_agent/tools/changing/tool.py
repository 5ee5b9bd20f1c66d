"""A changing tool out of functions: what it would do, and the doing, which a stop cannot tear apart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import one_line
from local_agent.domain.tools import (
    Action,
    Intent,
    ReadyTool,
    ResultStatus,
    Surroundings,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.changing.disk import beneath, state_of, void
from local_agent.tools.folder import Folder
from local_agent.tools.tool import Ready

Plan = TypeVar("Plan")

STOPPED = ToolResult(ResultStatus.CANCELLED, "Stopped by the person before anything was changed.", "stopped")


@dataclass(frozen=True, slots=True)
class Preview(Generic[Plan]):
    """What a call would do; the fields are those of ``Intent``."""

    action: Action
    target: str
    plan: Plan
    diff: str = ""
    outside: tuple[str, ...] = ()
    expected: Mapping[str, str] = field(default_factory=dict)
    intended: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ChangingTool(Generic[Plan]):
    """A tool with an effect on files. Its functions block on the disk and raise ``ToolFailed``."""

    spec: ToolSpec
    preview: Callable[[Mapping[str, object], Folder], Preview[Plan]]
    """Changes nothing."""
    carry_out: Callable[[Plan, Folder, threading.Event], ToolResult]
    """Raises ``ToolFailed`` when it did nothing. Once the event is set it begins with no further file."""
    narrow: Callable[[Plan, frozenset[int]], Preview[Plan]] | None = None
    """What a part of the hunks would do; None for what is done as a whole."""

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look what it would change."""
        return self._intent(call, await asyncio.to_thread(self.preview, call.arguments, folder))

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """The same with those hunks of its diff alone."""
        if self.narrow is None:
            return intent
        plan: Plan = intent.plan  # type: ignore[assignment]  # it is what this tool's own ``preview`` gave
        return self._intent(intent.call, await asyncio.to_thread(self.narrow, plan, hunks))

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> ReadyTool:
        """Look once more whether everything is as it was in the preview."""
        await asyncio.to_thread(_unchanged, intent.expected, folder)
        facts = {"target": intent.target, "expected": intent.expected, "intended": intent.intended}
        plan: Plan = intent.plan  # type: ignore[assignment]  # it is what this tool's own ``preview`` gave
        return Ready(partial(self._run, plan, folder), facts)

    def _intent(self, call: ToolCall, preview: Preview[Plan]) -> Intent:
        return Intent(
            call,
            self.spec,
            preview.action,
            one_line(preview.target, 200),
            diff=preview.diff,
            outside=preview.outside,
            expected=preview.expected,
            intended=preview.intended,
            plan=preview.plan,
        )

    async def _run(self, plan: Plan, folder: Folder, around: Surroundings) -> ToolResult:
        ended = threading.Event()
        working = asyncio.create_task(asyncio.to_thread(self.carry_out, plan, folder, ended))
        stopping = asyncio.create_task(around.stop.wait())
        try:
            await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Nobody goes on before it is known what was done: a thread can't be cancelled.
            ended.set()
            stopping.cancel()
            await asyncio.wait((working,))
        return working.result()


def _unchanged(expected: Mapping[str, str], folder: Folder) -> None:
    for path, before in expected.items():
        located = beneath(folder, Path(path))
        if state_of(folder, located) != before:
            raise void(located)
