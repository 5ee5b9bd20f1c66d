"""Decides what a turn is asked with: backend, model, window, limits and prompt."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from local_agent.agent.measuring import Measuring
from local_agent.agent.plan import REQUESTS, REQUESTS_IN_AUTO, TurnPlan
from local_agent.agent.prompt import (
    INSTRUCTIONS_LIMIT,
    question_context,
    stated_date,
    stated_mode,
    system_prompt,
    with_mode,
)
from local_agent.config.settings import Settings
from local_agent.config.wishes import Wishes, wishes_for
from local_agent.domain.budget import mentioned_bytes
from local_agent.domain.entries import Entry, ToolCall
from local_agent.domain.models import ModelInfo
from local_agent.domain.modes import Mode
from local_agent.domain.ports import Backend
from local_agent.domain.requests import answered_questions
from local_agent.domain.thinking import Thinking
from local_agent.domain.tools import ToolSpec
from local_agent.llm.windows import choose_window, default_max_output, think_for
from local_agent.memory.notes_file import NotesFile
from local_agent.runtime.measuring import Learned, WindowWatch
from local_agent.runtime.notes import NotesToTell
from local_agent.runtime.routing import Router
from local_agent.tools.folder import result_bytes
from local_agent.workspace.reading import read_mentions

UNPREPARED_WINDOW = 4096
COMMAND_TOOL = "bash"
"""What runs a command of the person's own."""


class Planner:
    """The choices of one conversation. A change counts from the next turn on."""

    def __init__(
        self,
        router: Router,
        settings: Settings,
        workspace_root: str,
        *,
        memory: int | None = None,
        mode: Mode = Mode.NORMAL,
        specs: Sequence[ToolSpec] = (),
        learned: Learned | None = None,
        notes: NotesFile | None = None,
    ) -> None:
        self.router = router
        self._learned = learned or Learned()
        self._windows = WindowWatch(self._learned)
        self._to_say: tuple[str, ...] = ()
        self.measuring = Measuring(self._learned.calibration)
        """What its requests weigh, and what servers counted for them."""
        self._settings = settings
        self._workspace_root = workspace_root
        self._memory = memory
        self.mode = mode
        """Of the next turn."""
        self._specs = tuple(specs)
        self._last_mode: Mode | None = None
        self._thinking: Thinking | None = None
        self._last_date = ""
        self._notes = NotesToTell(notes)

    @property
    def backend(self) -> Backend:
        """Where the conversation runs."""
        return self.router.backend

    @property
    def pinned(self) -> bool:
        """Whether a person chose the model for this conversation."""
        return self.router.pinned

    @property
    def model(self) -> str:
        """The model the next turn runs on; empty while none is chosen."""
        return self.router.name

    @property
    def info(self) -> ModelInfo | None:
        """What is known of the chosen model."""
        return self.router.model

    @property
    def window(self) -> int:
        """Tokens; 0 while the model is not known."""
        if self.info is None:
            return 0
        return choose_window(
            self.wishes.num_ctx, self.info, self._memory, self._learned.most_window(self.info)
        )

    @property
    def _smaller_window(self) -> int | None:
        """What may be tried where the window does not fit; a window that the person set is theirs."""
        chosen = self.info is not None and self.wishes.num_ctx is None
        return self._learned.smaller(self.info, self.window) if chosen and self.info else None

    @property
    def offered(self) -> tuple[ToolSpec, ...]:
        """The tools that the model is told of: none where it is known not to call any."""
        able = self.info is None or self.info.can_call_tools is not False
        return self._specs if able and self._settings.tools.enabled else ()

    @property
    def max_output(self) -> int:
        """Tokens that a reply may have."""
        return self.wishes.max_output or default_max_output(self.window or UNPREPARED_WINDOW)

    @property
    def wishes(self) -> Wishes:
        """What is set for the chosen model."""
        return wishes_for(self._settings, self.model)

    @property
    def thinking(self) -> Thinking | None:
        """What is wanted of the model: the person's word in this conversation, else what is set for it."""
        return self._thinking if self._thinking is not None else self.wishes.thinking

    @thinking.setter
    def thinking(self, value: Thinking | None) -> None:
        self._thinking = value

    @property
    def thinking_chosen(self) -> bool:
        """Whether that was said in this conversation."""
        return self._thinking is not None

    @property
    def think(self) -> Thinking | None:
        """What the model is sent of that; None is not sent."""
        return think_for(self.info, self.thinking)

    def adopt(self, settings: Settings) -> None:
        """Ask by other settings from the next turn on."""
        self._settings = settings

    async def prepare(self) -> None:
        """Choose a model if none is; a failure is kept for the next turn, which records and shows it."""
        await self.router.find()

    async def plan(self, text: str, parent: int | None, context: str | None = None) -> TurnPlan:
        """Everything a turn needs; never raises for a server or a model that is not there.

        ``context`` is what a question that is asked again was given the first time.
        """
        await self.prepare()
        if self.info is not None and self._smaller_window is not None:
            self._to_say += await self._windows.look(self.backend, self.info, self.window)
        plan = await asyncio.to_thread(self.build, text, parent, context)
        note, said = self.router.take_note(), self._to_say
        self._to_say = ()
        return replace(plan, notices=((note, *said) if note else said))

    async def asked_with(self, window: int, plan: TurnPlan) -> None:
        """A turn was asked with ``window``: one smaller than was planned is what fits."""
        same = self.info is not None and self.info.digest == plan.model_digest
        if self.info is not None and same and window == plan.smaller_window:
            line = await self._learned.fell(self.info, window)
            self._to_say += (line,) if line else ()

    def retell(self, path: Sequence[Entry]) -> None:
        """The next question follows ``path``: what no question that the model sees there was given, it is."""
        self._notes.retell(path)
        self._last_date, self._last_mode = "", None
        for question in answered_questions(path):
            self._last_date = stated_date(question.context) or self._last_date
            self._last_mode = stated_mode(question.context) or self._last_mode

    def build(self, text: str, parent: int | None, context: str | None = None) -> TurnPlan:
        """A plan from what is known now: enough to store a question whose turn is stopped already."""
        wishes = self.wishes
        window = self.window or UNPREPARED_WINDOW
        return TurnPlan(
            text=text,
            parent=parent,
            context=self._given(text, window) if context is None else self._given_again(context),
            # A byte of instructions for each token of the window fills about a quarter of it.
            system_prompt=system_prompt(
                Path(self._workspace_root), limit=min(INSTRUCTIONS_LIMIT, window), tools=bool(self.offered)
            ),
            mode=self.mode,
            tools=self.offered,
            max_requests=REQUESTS_IN_AUTO if self.mode is Mode.AUTO else REQUESTS,
            model=self.model,
            model_digest=self.info.digest if self.info is not None else "",
            window=window,
            max_output=self.max_output,
            think=self.think,
            sees=self.info is None or self.info.can_see is not False,
            keep_alive=wishes.keep_alive,
            options=dict(wishes.options),
            watchdog_seconds=self._settings.model.watchdog_seconds,
            smaller_window=self._smaller_window,
            may_cut=self.router.may_cut,
            window_known=self.info is None or not self.info.proxied or bool(self.info.trained_window),
            most_result=result_bytes(window),
            refusal=self.router.problem,
        )

    def _given(self, text: str, window: int) -> str:
        """What a question is given that was not asked before: its files as they are now."""
        mentioned = read_mentions(Path(self._workspace_root), text, mentioned_bytes(window))
        notes, problem = self._notes.next(window)
        self._to_say += (problem,) if problem else ()
        return question_context(self._last_date, mentioned, mode=self._mode_to_tell, notes=notes)

    def _given_again(self, context: str) -> str:
        """What a question was given, in the mode that it is asked again in."""
        told = stated_mode(context) or self._last_mode
        return context if not self.offered or told is self.mode else with_mode(context, self.mode)

    @property
    def _mode_to_tell(self) -> Mode | None:
        return self.mode if self.offered and self.mode is not self._last_mode else None

    def build_command(self, command: str, parent: int | None) -> TurnPlan:
        """A turn that is a command of the person's own; the model is not asked."""
        call = ToolCall(f"call_{secrets.token_hex(4)}", COMMAND_TOOL, {"command": command})
        window = self.window or UNPREPARED_WINDOW
        return TurnPlan(
            text=command,
            parent=parent,
            model=self.model,
            window=window,
            max_output=self.max_output,
            mode=self.mode,
            command=call,
        )
