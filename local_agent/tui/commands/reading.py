"""Commands to find one's way in a long conversation."""

from __future__ import annotations

from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS


@COMMANDS.command("find", "Find words in all of this conversation", hint="[WORDS]")
async def find(screen: CommandScreen, *words: str) -> None:
    await screen.history.find(" ".join(words))


@COMMANDS.command("view", "Read the answer in view on the whole screen")
async def view(screen: CommandScreen) -> None:
    screen.history.view()
