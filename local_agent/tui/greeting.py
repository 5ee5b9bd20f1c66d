"""The welcome of an empty conversation, told more as more is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.widgets.welcome import Missing, WelcomeFacts, WelcomeView

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen


class Greeting:
    """Looks around once the store is open, and shows what it found while nothing was asked."""

    def __init__(self, screen: ChatScreen) -> None:
        self.branch = ""
        self.facts = WelcomeFacts(str(screen.launch.options.workspace))
        self._screen = screen

    def show(self) -> None:
        """Draw the welcome again, where it is mounted."""
        for view in self._screen.query(WelcomeView):
            view.show(self.facts)

    def end(self) -> None:
        """Something was asked: no welcome any more."""
        self._screen.query(WelcomeView).remove()

    async def begin(self) -> None:
        """Greet in an empty transcript."""
        if not self._screen.query(WelcomeView):
            await self._screen.transcript.mount(WelcomeView(self.facts, glyphs=self._screen.glyphs))

    async def look_around(self, runtime: Runtime) -> None:
        """Ask for branch, last session and model; each is shown as it comes."""
        from local_agent.runtime.workspace import git_branch  # with the runtime, after the first paint

        screen = self._screen
        branch = await asyncio.to_thread(git_branch, screen.launch.options.workspace)
        self.branch = branch or ""
        engine = await asyncio.to_thread(find_spec, "xllamacpp") is not None
        conversation = screen.conversation
        self.facts = replace(self.facts, saved=runtime.saved, embedded_possible=engine)
        try:
            self.facts = replace(self.facts, latest=await runtime.latest())
        except LocalAgentError as error:
            screen.notify_line(str(error), "error")
        screen.show_facts()
        if conversation is None:
            return
        await conversation.prepare()
        self.facts = replace(
            self.facts,
            model=conversation.model,
            backend=conversation.backend_kind,
            address=runtime.engines.current.address,
            missing=await self._missing(runtime, conversation.model),
        )
        screen.show_facts()

    async def _missing(self, runtime: Runtime, model: str) -> Missing:
        if runtime.consent_needed is not None:
            return Missing.CONSENT
        if model:
            return Missing.NOTHING
        state = await runtime.state()
        return Missing.MODEL if state.reachable else Missing.SERVER
