"""Tools that reach nothing but the person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import one_line
from local_agent.domain.tools import (
    Action,
    Intent,
    ReadyTool,
    Surroundings,
    ToolResult,
    ToolSpec,
)
from local_agent.tools.folder import Folder
from local_agent.tools.tool import Ready


@dataclass(frozen=True, slots=True)
class TalkingTool:
    """A tool out of two functions, neither of which blocks."""

    spec: ToolSpec
    aim: Callable[[Mapping[str, object]], str]
    """The target; raises ``ToolFailed`` for what can't be said."""
    talk: Callable[[Mapping[str, object], int, Surroundings], Awaitable[ToolResult]]
    """Gets the arguments, and how many bytes the result may have."""

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look whether it can be said."""
        return Intent(call, self.spec, Action.TALK, one_line(self.aim(call.arguments), 200))

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """It has no diff."""
        return intent

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> ReadyTool:
        """There is nothing to prepare."""
        return Ready(partial(self.talk, intent.call.arguments, folder.result_bytes))
