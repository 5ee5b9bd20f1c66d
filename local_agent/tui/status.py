"""What header and footer say of the conversation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.tui.look.workspace_names import folder_name
from local_agent.tui.widgets.footer import FooterFacts
from local_agent.tui.widgets.header import HeaderFacts
from local_agent.tui.widgets.lines_view import LinesView

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.screens.chat import ChatScreen


def header_facts(screen: ChatScreen) -> HeaderFacts:
    """Where we are, who answers, how full its window is."""
    folder = folder_name(str(screen.launch.options.workspace))
    conversation = screen.conversation
    if conversation is None:
        return HeaderFacts(folder, screen.greeting.branch)
    return HeaderFacts(
        folder,
        screen.greeting.branch,
        conversation.model,
        conversation.used_tokens,
        conversation.window,
        conversation.read_only or (screen.runtime is not None and not screen.runtime.writable),
        conversation.unsaved,
        _thinking(conversation),
    )


def _thinking(conversation: Conversation) -> str:
    if conversation.thinking is None or conversation.model_info is None:
        return ""
    from local_agent.tui.models.thinking_modes import thinking_words  # only where something is set

    return thinking_words(conversation.planner.think)


def footer_facts(screen: ChatScreen, message: str) -> FooterFacts:
    """Which session this is, and whether it is kept."""
    settings, options = screen.launch.settings, screen.launch.options
    saved = options.save and settings.sessions.enabled
    conversation = screen.conversation
    return FooterFacts(
        handle=conversation.handle if conversation is not None else "",
        title=conversation.title if conversation is not None else "",
        saved=saved if screen.runtime is None else screen.runtime.saved,
        mode=str(conversation.mode) if conversation is not None else "NORMAL",
        busy=screen.busy,
        asking=bool(screen.query("WaitingPanel")),
        message=message,
        hints=tuple(screen.focused.hints) if isinstance(screen.focused, LinesView) else (),
    )
