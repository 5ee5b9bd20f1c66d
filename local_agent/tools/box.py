"""The tools of one conversation behind one door: calls are checked here before a tool sees them."""

from __future__ import annotations

import re
from asyncio import to_thread
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from local_agent.domain.entries import ToolCall
from local_agent.domain.text import one_line
from local_agent.domain.tools import Intent, ReadyTool, Surroundings, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.arguments import fitted
from local_agent.tools.folder import Folder
from local_agent.tools.output import bounded, fits
from local_agent.tools.tool import Tool

_MEANT = {
    "cat": "read",
    "open": "read",
    "view": "read",
    "search": "grep",
    "rg": "grep",
    "find": "glob",
    "files": "glob",
    "list": "ls",
    "dir": "ls",
    "tree": "ls",
    "create": "write",
    "save": "write",
    "replace": "edit",
    "modify": "edit",
    "delete": "remove",
    "rm": "remove",
    "rename": "move",
    "shell": "bash",
    "terminal": "bash",
    "run": "bash",
    "execute": "bash",
    "question": "ask_user",
    "plan": "todo",
}
"""What models call a tool that they know from other programs."""


class Box:
    """``domain.tools.Toolbox`` over the tools of a conversation, in the order in which they are given."""

    def __init__(self, folder: Folder, tools: Sequence[Tool]) -> None:
        self.folder = folder
        self._tools = {tool.spec.name: tool for tool in tools}
        self.specs: tuple[ToolSpec, ...] = tuple(tool.spec for tool in tools)

    async def prepare(self, call: ToolCall) -> Intent:
        """Look what a call would do. The intent's call has the arguments as they are understood."""
        tool = self._named(call.name)
        return await tool.prepare(replace(call, arguments=fitted(tool.spec, call)), self.folder)

    async def narrowed(self, intent: Intent, hunks: frozenset[int]) -> Intent:
        """The same with those hunks of its diff alone, counted from 0."""
        return await self._named(intent.spec.name).narrowed(intent, hunks, self.folder)

    async def ready(self, intent: Intent, execution_id: str, *, confined: bool) -> ReadyTool:
        """Do all but the effect. Raises ``ToolFailed`` when what the preview rests on has changed."""
        tool = self._named(intent.spec.name)
        return _InBounds(await tool.ready(intent, self.folder, execution_id, confined=confined), self.folder)

    def _named(self, name: str) -> Tool:
        found = self._tools.get(name)
        if found is None:
            said = f'There is no tool "{one_line(name, 60)}".'
            close = closest(name, list(self._tools))
            raise ToolFailed(f"{said} Closest: {', '.join(close)}." if close else f"{said} {self._all()}")
        return found

    def _all(self) -> str:
        return f"There are: {', '.join(self._tools)}." if self._tools else "There are no tools."


@dataclass(frozen=True, slots=True)
class _InBounds:
    """A call whose result fits, whatever its tool says."""

    ready: ReadyTool
    folder: Folder

    @property
    def facts(self) -> Mapping[str, object]:
        return self.ready.facts

    async def run(self, around: Surroundings) -> ToolResult:
        result = await self.ready.run(around)
        if fits(result.text, self.folder.result_bytes):
            return result
        text, size, output = await to_thread(
            bounded, result.text, self.folder.result_bytes, self.folder.outputs
        )
        if result.output:  # the tool has kept more than it says
            return replace(result, text=text)
        return replace(result, text=text, size=size, output=output)

    async def drop(self) -> None:
        await self.ready.drop()


def closest(name: str, names: Sequence[str]) -> list[str]:
    """At most three of ``names`` that are likely meant, best first."""
    from difflib import get_close_matches  # only for what is wrong

    plain = name[:100].lower()
    words = re.findall(r"[a-z]+", plain)
    meant = [*words, *(_MEANT.get(word, "") for word in words), *get_close_matches(plain, names, 3, 0.6)]
    return list(dict.fromkeys(each for each in meant if each in names))[:3]
