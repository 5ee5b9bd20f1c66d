"""Commands about what goes along with questions."""

from __future__ import annotations

from typing import Protocol

from local_agent.tui.commands.table import COMMANDS


class _Gallery(Protocol):
    def show_pictures(self) -> None: ...


@COMMANDS.command("pictures", "Look at the pictures of the questions in view, the newest first")
async def pictures(screen: _Gallery) -> None:
    screen.show_pictures()
