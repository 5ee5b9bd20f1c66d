"""The command about what fills the context window."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.errors import UsageError
from local_agent.tui.commands.table import COMMANDS

if TYPE_CHECKING:
    from local_agent.domain.marks import Mark
    from local_agent.runtime.context import ContextFacts
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen


@COMMANDS.command("context", "What fills the context window: keep turns in it, or leave them out")
async def context(screen: ChatScreen) -> None:
    from local_agent.tui.screens.context import ContextScreen  # after the first paint

    if screen.conversation is None:
        screen.notify_line("The database is still being opened: one moment.")
        return

    def closed(compact: bool | None) -> None:
        screen.show_facts()
        if compact:
            screen.action_command("/compact")

    screen.app.push_screen(ContextScreen(_Source(screen, screen.conversation), glyphs=screen.glyphs), closed)


class _Source:
    """Implements ``ContextSource`` for a conversation."""

    def __init__(self, screen: ChatScreen, conversation: Conversation) -> None:
        self._screen = screen
        self._conversation = conversation

    async def context(self) -> ContextFacts:
        return await self._conversation.context()

    async def mark(self, mark: Mark, entry_id: int) -> None:
        if self._conversation.read_only:
            raise UsageError("This session is open read-only.", "Close it where it is open, or take it over.")
        await self._conversation.time.mark(mark, entry_id)
        if self._conversation is self._screen.conversation:
            self._screen.history.mark(entry_id, mark)
