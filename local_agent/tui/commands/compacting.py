"""The command that makes room in the context window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.errors import UsageError
from local_agent.tui.commands.table import COMMANDS

if TYPE_CHECKING:
    from local_agent.tui.screens.chat import ChatScreen


@COMMANDS.command("compact", "Summarise earlier turns to make room in the context window", hint="[FOCUS]")
async def compact(screen: ChatScreen, *focus: str) -> None:
    conversation = screen.conversation
    if conversation is None or conversation.info is None:
        raise UsageError("There is nothing to summarise yet.", "Ask something first.")
    screen.turns.compact(conversation, " ".join(focus))
