"""The whole program on a stage: the real runtime behind the main screen, a scripted server before it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from local_agent.config.launch import LaunchOptions
from local_agent.config.settings import Settings
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.screens.chat import ChatScreen
from local_agent.tui.widgets.question import Question
from local_agent.tui.widgets.remarks import Remark
from local_agent.tui.widgets.reply import Reply
from tests.runtime.opened import paths_in, settings_for
from tests.tui.pilots import until


@dataclass
class Chat:
    """A running app, driven by keys."""

    app: LocalAgentApp
    pilot: Pilot[Any]

    @property
    def screen(self) -> ChatScreen:
        """The main screen, whatever lies over it."""
        return self.app.chat

    @property
    def questions(self) -> list[str]:
        return [question.source for question in self.screen.query(Question)]

    @property
    def replies(self) -> list[str]:
        return [reply.source for reply in self.screen.query(Reply)]

    @property
    def remarks(self) -> list[str]:
        return [remark.text for remark in self.screen.query(Remark)]

    async def ready(self) -> None:
        """Wait until a conversation is open and its model known."""
        await until(
            self.pilot, lambda: self.screen.conversation is not None and self.screen.conversation.model
        )

    async def type(self, text: str) -> None:
        """Press the keys of a text."""
        await self.pilot.press(*("space" if char == " " else char for char in text))

    async def send(self, text: str) -> None:
        """Type a prompt and press Enter."""
        await self.type(text)
        await self.pilot.press("enter")

    async def answered(self, count: int) -> None:
        """Wait until this many replies stand there and nothing runs."""
        await until(self.pilot, lambda: len(self.replies) == count and not self.screen.busy)

    async def leave(self) -> None:
        """Leave by key, and wait until everything is closed."""
        await self.pilot.press("ctrl+q")
        await until(self.pilot, lambda: self.app.return_value is not None)


@asynccontextmanager
async def chatting(
    home: Path,
    url: str,
    *,
    size: tuple[int, int] = (80, 24),
    settings: Settings | None = None,
    **options: object,
) -> AsyncIterator[Chat]:
    """Start the app as the command line would, and leave it at the end."""
    workspace = home.parent / "api-server"
    workspace.mkdir(parents=True, exist_ok=True)
    launch = replace(LaunchOptions(workspace=workspace), **options)  # type: ignore[arg-type]  # by name
    app = LocalAgentApp(launch, settings or settings_for(url), paths_in(home))
    async with app.run_test(size=size) as pilot:
        chat = Chat(app, pilot)
        yield chat
        if app.return_value is None:
            await chat.leave()
