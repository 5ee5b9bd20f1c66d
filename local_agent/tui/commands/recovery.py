"""The command about calls whose outcome nobody knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.tui.commands.table import COMMANDS

if TYPE_CHECKING:
    from local_agent.tui.screens.chat import ChatScreen


@COMMANDS.command("recover", "Settle calls whose outcome nobody knows, so that turns go on")
async def recover(screen: ChatScreen) -> None:
    from local_agent.tui.conversation.recovering import settle  # what it looks with: after the first paint

    await settle(screen)
