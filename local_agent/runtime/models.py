"""The models of a process: chosen and remembered, fetched, put out of memory, measured."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.preferences import Preferences, remember
from local_agent.config.settings import Settings
from local_agent.config.wishes import wishes_for
from local_agent.domain.errors import ConfigError, UsageError
from local_agent.domain.models import (
    Fit,
    Location,
    ModelInfo,
    PullProgress,
    Reason,
    is_cloud_name,
)
from local_agent.domain.ports import Backend
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.text import one_line
from local_agent.llm.windows import choose_window, judge_fit, needed_bytes
from local_agent.runtime.engines import Engines
from local_agent.runtime.machine import memory_bytes
from local_agent.runtime.measuring import Learned
from local_agent.runtime.routing import Router, Speeds, Wanted

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation


class Models:
    """What can be asked and done about models. Failures are ``ModelError`` and ``UsageError``."""

    def __init__(
        self, engines: Engines, settings: Settings, options: LaunchOptions, paths: Paths, speeds: Speeds
    ) -> None:
        self._engines = engines
        self._settings = settings
        self._options = options
        self._preferences = paths.preferences
        self._memory = memory_bytes()
        self._allow_cloud = options.allow_cloud
        self._chosen: tuple[Backend, str] | None = None
        """The last choice of this process; a model that runs elsewhere is chosen for one conversation."""
        self.learned = Learned(paths.preferences if options.save else None)
        """What was found out about models here."""
        self.speeds = speeds
        """Asks how fast each model was in its last turns on this machine, by full name."""

    def adopt(self, settings: Settings) -> None:
        """Choose and judge by other settings from now on."""
        self._settings = settings

    def pull(self, name: str) -> AsyncGenerator[PullProgress, None]:
        """Fetch a model through the Ollama server; closing ends it, and again goes on from there."""
        return self._engines.server.pull(name)

    async def unload(self, name: str) -> None:
        """Free the memory that a model takes; one that is not loaded is no error."""
        if (await self.describe(name)).proxied:
            # The server would pass even this on.
            raise UsageError(f"{one_line(name, 80)} runs elsewhere: nothing of it is in memory here.")
        await self._engines.current.unload(name)

    async def describe(self, name: str) -> ModelInfo:
        """Everything known of a model. Of one in the cloud only its name is: nobody is asked about it."""
        if is_cloud_name(name):
            return ModelInfo(name, location=Location.CLOUD, proxied=True)
        return await self._engines.current.describe(name)

    def window(self, model: ModelInfo) -> int:
        """Tokens that it would be asked with."""
        setting = wishes_for(self._settings, model.name).num_ctx
        return choose_window(setting, model, self._memory, self.learned.most_window(model))

    def needed(self, model: ModelInfo) -> int | None:
        """Bytes of memory that it takes with this window; None where that can't be known."""
        return None if model.leaves else needed_bytes(model, self.window(model))

    def fit(self, model: ModelInfo) -> Fit:
        """Whether this machine holds it with this window."""
        return judge_fit(model, self.window(model), self._memory)

    async def choose(self, conversation: Conversation, name: str) -> str:
        """Use ``name`` in this conversation from its next turn on, and remember it when it is local.

        Raises ``CloudConsentNeeded`` for a model that runs elsewhere, until ``agree`` was called for it.
        Gives a line for the person when remembering it did not go as it should, else nothing.
        """
        await conversation.set_model(name)
        chosen = conversation.model_info
        if chosen is not None and not chosen.leaves:
            self._chosen = conversation.planner.backend, chosen.name
        # A file of the embedded engine, and what runs elsewhere, is never a preference.
        if chosen is None or chosen.location is not Location.LOCAL or conversation.backend_kind != "ollama":
            return ""
        return await self._remember(chosen.name, self._settings.ollama.model or "")

    async def choose_auto(self, conversation: Conversation) -> str:
        """Forget the remembered choice, then use whichever local model suits; a line as of ``choose``."""
        self._chosen = None
        line = await self._remember("", "")
        await conversation.set_model(None)
        return line

    def agree(self, conversation: Conversation, name: str) -> None:
        """The person agreed that this conversation goes where ``name`` runs; for this conversation only."""
        conversation.planner.router.agree(name)

    def remembered(self) -> tuple[str, str]:
        """The choice that is kept for the next start, and a line when the file can't be read."""
        kept, line = Preferences.read_or_none(self._preferences)
        return kept.model, line

    def router(self, info: SessionInfo | None) -> Router:
        """For a session, or for a new conversation.

        What was chosen in this process counts for the conversations that begin after it. Before that the
        flag wins over all, and a session's own model over what is set and remembered. A remembered choice
        counts above ``ollama.model`` for as long as that says what it said then.
        """
        flag, options = self._options.model, self._options
        backend = self._engines.current
        if info is not None and not (flag or options.gguf or options.demo):
            backend = self._engines.get(info.backend, info.host)
        wanted = self._wanted(info, backend, flag)
        router = Router(
            backend,
            wanted,
            local_only=self._settings.privacy.local_only,
            memory=self._memory,
            speeds=self.speeds,
        )
        if self._allow_cloud and wanted.name:
            router.agree(wanted.name)
            self._allow_cloud = False  # it was for one conversation
        return router

    def _wanted(self, info: SessionInfo | None, backend: Backend, flag: str | None) -> Wanted:
        if info is None and self._chosen is not None and self._chosen[0] is backend:
            return Wanted(self._chosen[1], Reason.CHOSEN)
        if flag:
            return Wanted(flag, Reason.FLAG, pinned=True)
        pinned = info is not None and info.model_pinned
        if info is not None and backend.kind == info.backend and info.model:
            return Wanted(info.model, Reason.SESSION, pinned=pinned)
        if backend.kind != "ollama":
            return Wanted(pinned=pinned)
        setting = self._settings.ollama.model or ""
        kept, _ = Preferences.read_or_none(self._preferences)
        return Wanted(
            setting,
            Reason.SETTINGS if setting else Reason.AUTO,
            remembered=kept.model if not setting or setting == kept.instead_of else "",
            pinned=pinned,
        )

    async def _remember(self, model: str, instead_of: str) -> str:
        if not self._options.save:
            return ""
        try:
            return await asyncio.to_thread(
                remember, self._preferences, model=model, instead_of=instead_of if model else ""
            )
        except ConfigError as error:
            return f"The choice counts here, and is not remembered. {error}"
