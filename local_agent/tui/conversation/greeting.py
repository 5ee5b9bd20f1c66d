"""The welcome of an empty conversation, told more as more is known."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError

if TYPE_CHECKING:
    from local_agent.runtime.runtime import Runtime
    from local_agent.tui.screens.chat import ChatScreen
    from local_agent.tui.widgets.welcome import Missing, WelcomeFacts, WelcomeView


class Greeting:
    """Looks around once the store is open, and shows what it found while nothing was asked."""

    def __init__(self, screen: ChatScreen) -> None:
        self.branch = ""
        self._screen = screen
        self._facts: WelcomeFacts | None = None
        self._view: WelcomeView | None = None

    @property
    def _mounted(self) -> WelcomeView | None:
        return self._view if self._view is not None and self._view.is_attached else None

    @property
    def shown(self) -> bool:
        """True while nothing was asked."""
        return self._mounted is not None

    def show(self) -> None:
        """Draw the welcome again, where it is mounted."""
        if self._mounted is not None:
            self._mounted.show(self._known())

    def end(self) -> None:
        """Something was asked: no welcome any more."""
        if self._mounted is not None:
            self._mounted.remove()

    async def begin(self) -> None:
        """Greet in an empty transcript."""
        from local_agent.tui.widgets.welcome import WelcomeView  # after the first paint

        if self._mounted is None:
            self._view = WelcomeView(self._known(), glyphs=self._screen.glyphs)
            await self._screen.transcript.mount(self._view)

    async def look_around(self, runtime: Runtime) -> None:
        """Ask for branch, last session and model; each is shown as it comes."""
        from importlib.util import find_spec

        # With the runtime, after the first paint.
        from local_agent.runtime.machine import memory_bytes
        from local_agent.runtime.suggested import suggested_model
        from local_agent.runtime.workspace import git_branch

        screen = self._screen
        branch = await asyncio.to_thread(git_branch, screen.launch.options.workspace)
        self.branch = branch or ""
        engine = await asyncio.to_thread(find_spec, "xllamacpp") is not None
        conversation = screen.conversation
        self._facts = replace(self._known(), saved=runtime.saved, embedded_possible=engine)
        try:
            self._facts = replace(self._known(), latest=await runtime.library.latest())
        except LocalAgentError as error:
            screen.notify_line(str(error), "error")
        screen.show_facts()
        if conversation is None:
            return
        await conversation.prepare()
        self._facts = replace(
            self._known(),
            model=conversation.model,
            backend=conversation.backend_kind,
            address=runtime.engines.current.address,
            suggested=suggested_model(memory_bytes()).name,
            missing=await self._missing(runtime, conversation.model),
        )
        screen.show_facts()

    def _known(self) -> WelcomeFacts:
        if self._facts is None:
            from local_agent.tui.widgets.welcome import WelcomeFacts  # after the first paint

            self._facts = WelcomeFacts(str(self._screen.launch.options.workspace))
        return self._facts

    async def _missing(self, runtime: Runtime, model: str) -> Missing:
        from local_agent.tui.widgets.welcome import Missing  # after the first paint

        if runtime.consent_needed is not None:
            return Missing.CONSENT
        if model:
            return Missing.NOTHING
        state = await runtime.state()
        return Missing.MODEL if state.reachable else Missing.SERVER
