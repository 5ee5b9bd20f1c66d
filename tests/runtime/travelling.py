"""A conversation that works on files, and what everything was at each of its moments."""

from __future__ import annotations

import os
import stat
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import Entry
from local_agent.domain.events import ApprovalAsked, Event, ToolFinished, TurnFailed
from local_agent.domain.ledger import EventKind
from local_agent.domain.moves import Cause, Scope
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.time_travel import Arrival, Journey
from tests.support.ollama_server import OllamaServer, Turn, call, say

Tree = dict[str, tuple[object, ...]]


def tree_of(root: Path) -> Tree:
    """Everything below a folder but Git's own: kind, permissions and content."""
    found: Tree = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in (*folders, *files):
            path = Path(folder, name)
            status = path.lstat()
            content: object = ""
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = path.read_bytes()
            found[path.relative_to(root).as_posix()] = (status.st_mode, content)
    return found


def marks_of(root: Path) -> dict[str, tuple[int, int]]:
    """What tells whether a file was touched at all: its inode and when it changed."""
    return {path: ((root / path).lstat().st_ino, (root / path).lstat().st_mtime_ns) for path in tree_of(root)}


@dataclass
class Worker:
    """Runs turns with tool calls, and goes to and fro in the session."""

    conversation: Conversation
    server: OllamaServer
    work: Path
    asked: int = 0
    events: list[Event] = field(default_factory=list)

    async def turn(
        self, *calls: tuple[str, dict[str, object]], text: str = "", instead_of: int | None = None
    ) -> None:
        """One turn with these calls, all allowed; each in a reply of its own, as models do it."""
        question = await self.question(instead_of) if instead_of is not None else None
        self.asked += 1
        for name, arguments in calls:
            self.server.script(Turn(call(name, arguments)))
        self.server.script(Turn(say(f"Answer {self.asked}.")))
        prompt = Prompt(text or f"question {self.asked}")
        async with aclosing(self.conversation.ask(prompt, instead_of=question)) as events:
            async for event in events:
                self.events.append(event)
                if isinstance(event, ApprovalAsked):
                    assert self.conversation.answer(event.request.id, Answer(Choice.ONCE))
                assert not isinstance(event, TurnFailed), event
                if isinstance(event, ToolFinished):
                    assert event.execution.state is EventKind.COMPLETED, event.result.text

    async def question(self, entry_id: int) -> Entry:
        """A question of any branch."""
        return await self.conversation.time.question(entry_id)

    async def said(self) -> list[str]:
        """The words of the whole path."""
        part = await self.conversation.tail(10_000)
        return [entry.text for entry in part.entries if entry.call_number is None]

    async def go(self, journey: Journey, scope: Scope) -> Arrival:
        return await self.conversation.time.go(journey, scope)

    async def undo(self, scope: Scope) -> Arrival:
        return await self.go(await self.conversation.time.undo(), scope)

    async def redo(self, scope: Scope) -> Arrival:
        return await self.go(await self.conversation.time.redo(), scope)

    async def restore(self, checkpoint_id: int, scope: Scope) -> Arrival:
        return await self.go(await self.conversation.time.to_checkpoint(checkpoint_id), scope)

    async def switch(self, entry_id: int, scope: Scope = Scope.CONVERSATION) -> Arrival:
        return await self.go(await self.conversation.time.to_entry(entry_id, Cause.SWITCH), scope)
