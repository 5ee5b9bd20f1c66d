"""What every tool is to the box that holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import Intent, ReadyTool, Surroundings, ToolResult, ToolSpec
from local_agent.tools.folder import Folder


class Tool(Protocol):
    """One tool. It keeps nothing of a call but in the intent's ``plan``: calls may run at the same time."""

    @property
    def spec(self) -> ToolSpec:
        """What the model is told of it."""

    async def prepare(self, call: ToolCall, folder: Folder) -> Intent:
        """Look what a call would do. Its arguments fit the schema already. Raises ``ToolFailed``."""

    async def narrowed(self, intent: Intent, hunks: frozenset[int], folder: Folder) -> Intent:
        """The same with those hunks of its diff alone, counted from 0; the same intent where it has none."""

    async def ready(self, intent: Intent, folder: Folder, execution_id: str, *, confined: bool) -> ReadyTool:
        """Do all but the effect. Raises ``ToolFailed`` when what the preview rests on has changed."""


async def _nothing_to_drop() -> None:
    pass


@dataclass(frozen=True, slots=True)
class Ready:
    """``domain.tools.ReadyTool`` out of functions."""

    work: Callable[[Surroundings], Awaitable[ToolResult]]
    facts: Mapping[str, object] = field(default_factory=dict)
    let_go: Callable[[], Awaitable[None]] = _nothing_to_drop

    async def run(self, around: Surroundings) -> ToolResult:
        """Do it."""
        return await self.work(around)

    async def drop(self) -> None:
        """It won't be run."""
        await self.let_go()
