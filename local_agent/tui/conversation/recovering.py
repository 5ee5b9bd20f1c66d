"""What a conversation needs after its process died in a call, or was away: findings settled, changes told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.conversation.history import TAIL_ENTRIES

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen


async def settle(screen: ChatScreen) -> None:
    """Have the person settle what is uncertain; the conversation is then drawn with what was found."""
    conversation = screen.conversation
    if conversation is None:
        return
    if screen.busy:
        screen.notify_line("A turn is running: stop it with Esc first.", "warning")
        return
    from local_agent.tui.screens.recover import RecoverScreen

    recover = RecoverScreen(
        conversation.pending,
        conversation.hands.recovering,
        here=conversation.handle,
        glyphs=screen.glyphs,
    )
    if await screen.app.push_screen_wait(recover):
        screen.notify_line("Everything is settled: a prompt can be sent again.")
    if conversation is screen.conversation and recover.settled:
        await screen.history.show(conversation, await conversation.tail(TAIL_ENTRIES))
        screen.show_facts()


async def tell_changes(screen: ChatScreen, conversation: Conversation) -> None:
    """Say below a resumed conversation what is not as it was when it was last used."""
    from local_agent.runtime.resume_report import look_back, report

    try:
        text = report(await look_back(conversation), conversation.handle)
    except LocalAgentError:
        return  # whoever reads on will meet the same failure, and be told
    if text and conversation is screen.conversation:
        screen.notify_line(text, "warning")
