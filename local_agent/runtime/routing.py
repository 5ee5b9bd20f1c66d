"""Which model a conversation runs on: found, chosen, agreed to, or the reason why there is none."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from local_agent.domain.errors import CloudConsentNeeded, ModelError, ModelErrorKind
from local_agent.domain.models import (
    Location,
    ModelInfo,
    Reason,
    ServerState,
    Speed,
    full_name,
    is_cloud_name,
)
from local_agent.domain.ports import Backend
from local_agent.domain.text import one_line
from local_agent.llm.windows import choose_model

Speeds = Callable[[], Awaitable[Mapping[str, Speed]]]
_PLACES = {
    Location.CLOUD: "in Ollama's cloud (ollama.com)",
    Location.REMOTE: "on another machine that this server passes it on to",
    Location.UNKNOWN: "in a place that can't be known",
    Location.LOCAL: "here",
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which model a conversation begins with, as far as that is decided."""

    name: str = ""
    """Empty: whichever the server has that suits."""
    reason: Reason = Reason.AUTO
    remembered: str = ""
    """Taken instead of ``name`` once the server proves that it runs this one itself, on this machine."""
    pinned: bool = False


class Router:
    """The model of one conversation. A change counts from the next turn on."""

    def __init__(
        self,
        backend: Backend,
        wanted: Wanted,
        *,
        local_only: bool = False,
        memory: int | None = None,
        speeds: Speeds | None = None,
    ) -> None:
        self.backend = backend
        self.pinned = wanted.pinned
        self.reason = Reason.REMEMBERED if wanted.remembered else wanted.reason
        self.model: ModelInfo | None = None
        self.problem: ModelError | None = None
        """Why there is none; the next turn records and shows it."""
        self.may_cut = False
        """The server shortens long prompts by itself instead of refusing them."""
        self._wanted = wanted
        self._local_only = local_only
        self._memory = memory
        self._speeds = speeds
        self._note = ""
        self._agreed: set[str] = set()
        self._finding = asyncio.Lock()

    @property
    def name(self) -> str:
        """The model the next turn runs on, found or not; empty while none is chosen."""
        return self.model.name if self.model is not None else self._wanted.remembered or self._wanted.name

    @property
    def consent_needed(self) -> CloudConsentNeeded | None:
        """Set while the wanted model is one that the conversation may not be sent to before ``agree``."""
        return self.problem if isinstance(self.problem, CloudConsentNeeded) else None

    def agree(self, model: str) -> None:
        """The person agreed that this conversation, and no other, goes where ``model`` runs."""
        self._agreed.add(full_name(model))

    def take_note(self) -> str:
        """What the person should know of how the model was chosen; said once."""
        note, self._note = self._note, ""
        return note

    async def find(self) -> None:
        """Have a model if that can be; never raises for a server or a model that is not there."""
        async with self._finding:
            if self.model is not None:
                return
            try:
                self.model = await self._found()
                self.problem = None
            except ModelError as error:
                self.problem = error

    async def choose(self, name: str) -> None:
        """Use ``name``. Raises ``ModelError`` when it is not there or may not be used."""
        model = await self._described(name)
        if not model.can_chat:
            raise ModelError(
                ModelErrorKind.NO_MODEL,
                f"{one_line(name, 80)} makes embeddings and does not chat.",
                "Choose another one with /model.",
            )
        async with self._finding:
            self._use(model, Wanted(name, Reason.CHOSEN, pinned=True))

    async def route(self, needs: frozenset[str] = frozenset()) -> None:
        """Use whichever local model suits and has these capabilities, such as ``vision``.

        Raises ``ModelError`` when there is none; then the model stays the one that it was.
        """
        suiting = await self._suiting(await self._looked(), needs)
        model = await self._described(suiting.name)
        async with self._finding:
            self._use(model, Wanted())

    def _use(self, model: ModelInfo, wanted: Wanted) -> None:
        self.model, self.problem, self._note, self._wanted = model, None, "", wanted
        self.pinned, self.reason = wanted.pinned, wanted.reason

    async def _found(self) -> ModelInfo:
        state, wanted = await self._looked(), self._wanted
        if wanted.remembered:
            name = full_name(wanted.remembered)
            found = next((model for model in state.models if full_name(model.name) == name), None)
            if found is not None and found.location is Location.LOCAL and found.can_chat:
                return await self._described(found.name)
            self._note = _not_taken(wanted.remembered, found)
            # From here on it is as if nothing had been remembered: no switch in mid-conversation.
            self._wanted = Wanted(wanted.name, wanted.reason, pinned=wanted.pinned)
            self.reason = wanted.reason
        return await self._described(wanted.name or (await self._suiting(state)).name)

    async def _looked(self) -> ServerState:
        state = await self.backend.state()
        if not state.reachable:
            raise ModelError(ModelErrorKind.UNREACHABLE, state.problem, state.hint)
        self.may_cut = state.cuts_prompts
        return state

    async def _suiting(self, state: ServerState, needs: frozenset[str] = frozenset()) -> ModelInfo:
        speeds = await self._speeds() if self._speeds is not None and len(state.models) > 1 else {}
        chosen = choose_model(state.models, None, self._memory, needs=needs, speeds=speeds)
        if chosen is not None:
            return chosen
        if needs:
            line = f"No model that runs here has {' and '.join(sorted(needs))}."
            raise ModelError(ModelErrorKind.NO_MODEL, line, "Pull one, or choose one with /model.")
        raise ModelError(
            ModelErrorKind.NO_MODEL,
            "The server has no model to chat with.",
            "Get one, such as: ollama pull qwen3:4b",
        )

    async def _described(self, name: str) -> ModelInfo:
        """Everything known of a model; one in the cloud is not even looked up before it may be used."""
        if is_cloud_name(name):
            self._refuse_foreign(ModelInfo(name, location=Location.CLOUD, proxied=True))
        model = await self.backend.describe(name)
        self._refuse_foreign(model)
        return model

    def _refuse_foreign(self, model: ModelInfo) -> None:
        if self._local_only and model.location is not Location.LOCAL:
            raise ModelError(
                ModelErrorKind.UNAUTHORIZED,
                f"{model.name} does not run on this machine, and privacy.local_only is on.",
                "Choose a local one with /model.",
            )
        if model.leaves and full_name(model.name) not in self._agreed:
            raise CloudConsentNeeded(model.name, _PLACES[model.location])


def _not_taken(name: str, found: ModelInfo | None) -> str:
    """Why the model that was chosen last does not answer now."""
    if found is None:
        why = "is not there any more"
    elif not found.can_chat:
        why = "does not chat"
    else:
        why = "is not known to run on this machine"
    return (
        f"{one_line(name, 80)}, which you chose last, {why}: another model answers. /model auto forgets it."
    )
