"""What the model screens ask of runtime and conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.models import ModelInfo, Speed, full_name
from local_agent.llm.pull import checked_name
from local_agent.runtime.machine import memory_bytes
from local_agent.runtime.suggested import suggested_model
from local_agent.tui.models.model_list import Inventory, Listed
from local_agent.tui.widgets.model_details import Details

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime


class ConversationModels:
    """The models of the server that answers in a conversation. Implements ``ModelSource``."""

    def __init__(self, runtime: Runtime, conversation: Conversation) -> None:
        self._models = runtime.models
        self._conversation = conversation

    @property
    def suggested(self) -> str:
        """A model for a first pull, that fits this machine."""
        return suggested_model(memory_bytes()).name

    @property
    def known(self) -> Listed | None:
        """The model that answers now, as far as it is known without asking."""
        info = self._conversation.model_info
        return Listed(info, self._models.fit(info)) if info is not None else None

    async def look(self) -> Inventory:
        """What there is now; a server that does not answer is a state."""
        state = await self._conversation.state()
        speeds = await self.speeds()
        return Inventory(state, tuple(self._listed(info, speeds) for info in state.models))

    async def details(self, model: Listed) -> Details:
        """Everything known of one model. Raises ``LocalAgentError``."""
        # Of one that runs elsewhere nothing more is asked.
        info = model.info if model.info.leaves else await self._models.describe(model.name)
        listed = self._listed(info, await self.speeds())
        return Details(listed, self._models.window(info), self._models.needed(info))

    async def unload(self, name: str) -> None:
        """Free the memory that it takes. Raises ``LocalAgentError``."""
        await self._models.unload(name)

    async def speeds(self) -> Mapping[str, Speed]:
        """By full name; empty where the store can't be read, which is no reason to show no models."""
        try:
            return await self._models.speeds()
        except LocalAgentError:
            return {}

    def pullable(self, name: str) -> str:
        """The name as a pull would take it; empty where nothing can be called so."""
        try:
            return checked_name(name)
        except UsageError:
            return ""

    def _listed(self, info: ModelInfo, speeds: Mapping[str, Speed]) -> Listed:
        return Listed(info, self._models.fit(info), speeds.get(full_name(info.name)))
