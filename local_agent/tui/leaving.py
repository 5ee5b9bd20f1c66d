"""The way out: the turn stopped, what is unsent and unsaved kept, the session given back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.tui.device.catching_up import catch_up
from local_agent.tui.launch import ExitReport

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen


async def leave(screen: ChatScreen, return_code: int) -> None:
    """End everything in order and close the app."""
    await catch_up(screen.composer, screen.pane, screen)
    await screen.turns.stop()
    if "travelling" in vars(screen):  # it is made when it is first wanted
        await screen.travelling.halt()
    screen.workers.cancel_group(screen, "mirror")
    pulls = tuple(worker.name for worker in screen.workers.cancel_group(screen, "pull"))
    if screen.runtime is not None:
        screen.runtime.hurry()
    screen.note_draft()
    await screen.drafts.save()
    report = ExitReport()
    if screen.conversation is not None:
        report = await _give_back(screen.conversation, screen.drafts.unsaved)
    if screen.runtime is not None:
        await screen.runtime.close()
    screen.app.exit(report._replace(pulls=pulls), return_code)


async def _give_back(conversation: Conversation, draft: str) -> ExitReport:
    await conversation.close()
    aside = conversation.set_aside(draft)
    if not conversation.handle or conversation.read_only:
        return ExitReport(aside=aside)
    return ExitReport(conversation.handle, conversation.title, aside)
