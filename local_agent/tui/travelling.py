"""What a person sees of a move of the conversation's head."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.tui.conversation.history import TAIL_ENTRIES

if TYPE_CHECKING:
    from local_agent.tui.screens.chat import ChatScreen


async def show_again(screen: ChatScreen) -> None:
    """Show the conversation at its end, after its head was moved; all that tells of it follows.

    Raises ``LocalAgentError`` where the end can't be read.
    """
    conversation = screen.conversation
    if conversation is None:
        return
    tail = await conversation.tail(TAIL_ENTRIES)
    await conversation.recall()
    screen.history.end_find()
    await screen.history.show(conversation, tail)
    screen.tooling.open(tail.executions[key] for key in sorted(tail.executions))
    if tail.entries:
        screen.greeting.end()
    else:
        await screen.greeting.begin()
    screen.show_facts()
