"""Calls a tool as the loop does, without the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from local_agent.domain.entries import ToolCall
from local_agent.domain.tools import Intent, ToolFailed, ToolResult
from local_agent.objects.store import ObjectFolder
from local_agent.tools.box import Box
from local_agent.tools.folder import Folder
from local_agent.tools.reading import reading_tools
from local_agent.tools.tool import Tool


@dataclass
class Around:
    """What a running tool gets; the person answers with ``answers``, first one first."""

    stop: asyncio.Event = field(default_factory=asyncio.Event)
    answers: list[str] = field(default_factory=list)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    def progress(self, text: str) -> None:
        self.told.append(text)

    async def ask(self, question: str, options: Sequence[str]) -> str | None:
        self.asked.append((question, tuple(options)))
        return self.answers.pop(0) if self.answers else None


def box(root: Path, result_bytes: int = 8_192, tools: Sequence[Tool] | None = None) -> Box:
    """The reading tools over ``root``; what is cut is kept beside it."""
    outputs = ObjectFolder(root.parent / "outputs")
    return Box(Folder(root, outputs, result_bytes), tools if tools is not None else reading_tools())


async def prepared(tools: Box, name: str, **arguments: object) -> Intent:
    return await tools.prepare(ToolCall("call-1", name, arguments))


async def run(tools: Box, intent: Intent, around: Around | None = None) -> ToolResult:
    ready = await tools.ready(intent, "execution-1", confined=False)
    return await ready.run(around or Around())


async def call(tools: Box, name: str, around: Around | None = None, **arguments: object) -> ToolResult:
    """Prepare and run what needs no leave: fails when it would touch anything outside."""
    intent = await prepared(tools, name, **arguments)
    assert not intent.outside
    return await run(tools, intent, around)


async def failure(tools: Box, name: str, **arguments: object) -> str:
    """The sentence that the model reads of a call that can't be carried out."""
    try:
        result = await call(tools, name, **arguments)
    except ToolFailed as failed:
        return str(failed)
    raise AssertionError(f"it worked: {result}")
