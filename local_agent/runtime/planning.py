"""Decides what a turn is asked with: backend, model, window, limits and prompt."""

from __future__ import annotations

import asyncio
from pathlib import Path

from local_agent.agent.prompt import INSTRUCTIONS_LIMIT, question_context, system_prompt
from local_agent.agent.turn import TurnPlan
from local_agent.config.settings import Settings
from local_agent.domain.entries import Entry
from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.models import Location, ModelInfo
from local_agent.domain.ports import Backend
from local_agent.llm.windows import choose_model, choose_window, default_max_output

UNPREPARED_WINDOW = 4096


class Planner:
    """The choices of one conversation. A change counts from the next turn on."""

    def __init__(
        self,
        backend: Backend,
        settings: Settings,
        workspace_root: str,
        *,
        wanted_model: str = "",
        pinned: bool = False,
        memory: int | None = None,
    ) -> None:
        self.backend = backend
        self.pinned = pinned
        self._settings = settings
        self._workspace_root = workspace_root
        self._wanted = wanted_model
        self._memory = memory
        self._model: ModelInfo | None = None
        self._problem: ModelError | None = None
        self._may_cut = False
        self._preparing = asyncio.Lock()
        self._last_context = ""

    @property
    def model(self) -> str:
        """The model the next turn runs on; empty while none is chosen."""
        return self._model.name if self._model is not None else self._wanted

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the chosen model."""
        return self._model

    @property
    def window(self) -> int:
        """Tokens; 0 while the model is not known."""
        if self._model is None:
            return 0
        return choose_window(self._settings.ollama.num_ctx, self._model, self._memory)

    async def prepare(self) -> None:
        """Choose a model if none is; a failure is kept for the next turn, which records and shows it."""
        async with self._preparing:
            if self._model is not None:
                return
            try:
                self._model = await self._find_model()
                self._problem = None
            except ModelError as error:
                self._problem = error

    async def choose(self, name: str) -> None:
        """Use ``name`` from the next turn on. Raises ``ModelError`` when it is not there."""
        model = await self.backend.describe(name)
        self._refuse_foreign(model)
        async with self._preparing:
            self._model, self._problem, self._wanted, self.pinned = model, None, name, True

    async def plan(self, text: str, parent: int | None, context: str | None = None) -> TurnPlan:
        """Everything a turn needs; never raises for a server or a model that is not there.

        ``context`` is what a question that is asked again was given the first time.
        """
        await self.prepare()
        return await asyncio.to_thread(self.build, text, parent, context)

    def asked(self, question: Entry) -> None:
        """A question is stored; what it was given need not be given again."""
        self._last_context = question.context or self._last_context

    async def _find_model(self) -> ModelInfo:
        state = await self.backend.state()
        if not state.reachable:
            raise ModelError(ModelErrorKind.UNREACHABLE, state.problem, state.hint)
        self._may_cut = state.cuts_prompts
        name = self._wanted
        if not name:
            chosen = choose_model(state.models, None, self._memory)
            if chosen is None:
                raise ModelError(
                    ModelErrorKind.NO_MODEL,
                    "The server has no model to chat with.",
                    "Get one, such as: ollama pull qwen3:4b",
                )
            name = chosen.name
        model = await self.backend.describe(name)
        self._refuse_foreign(model)
        return model

    def _refuse_foreign(self, model: ModelInfo) -> None:
        if self._settings.privacy.local_only and model.location is not Location.LOCAL:
            raise ModelError(
                ModelErrorKind.UNAUTHORIZED,
                f"{model.name} does not run on this machine, and privacy.local_only is on.",
                "Choose a local one with /model.",
            )

    def build(self, text: str, parent: int | None, context: str | None = None) -> TurnPlan:
        """A plan from what is known now: enough to store a question whose turn is stopped already."""
        chosen = self._settings.model
        window = self.window or UNPREPARED_WINDOW
        return TurnPlan(
            text=text,
            parent=parent,
            context=question_context(self._last_context) if context is None else context,
            # A byte of instructions for each token of the window fills about a quarter of it.
            system_prompt=system_prompt(Path(self._workspace_root), limit=min(INSTRUCTIONS_LIMIT, window)),
            model=self.model,
            model_digest=self._model.digest if self._model is not None else "",
            window=window,
            max_output=chosen.max_output or default_max_output(window),
            think=chosen.thinking,
            keep_alive=self._settings.ollama.keep_alive,
            options=dict(chosen.options),
            watchdog_seconds=chosen.watchdog_seconds,
            may_cut=self._may_cut,
            refusal=self._problem,
        )
