"""Runs the turns of one conversation, and keeps its place in the tree."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from local_agent.agent.fitting import refuse_too_large
from local_agent.agent.turn import Agent, TurnPlan
from local_agent.domain.approvals import Answer
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry, Kind, TurnStatus, Usage
from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.events import (
    Compacted,
    Event,
    Notice,
    ReplyRecorded,
    TurnEnded,
    TurnStarted,
    UsageReported,
)
from local_agent.domain.modes import Mode
from local_agent.runtime.compacting import Compacting
from local_agent.runtime.hands import Hands
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.planning import Planner
from local_agent.runtime.saving_news import SavingNews
from local_agent.runtime.showing import Showing
from local_agent.runtime.stopping import unless_stopped
from local_agent.store.store import Store

HURRY_SECONDS = 0.7
"""How long a write may still wait for another program's lock once the person wants an end."""
_LOOK_BACK = 8


class Asking:
    """The turns of one conversation, one at a time."""

    def __init__(
        self,
        store: Store,
        journal: ConversationJournal,
        planner: Planner,
        pictures: Showing,
        hands: Hands,
        head: int | None,
    ) -> None:
        self.head = head
        """The last entry of the path, as this process knows it."""
        self.busy = False
        self.used_tokens: int | None = None
        """What the last request and its reply took of the window."""
        self.news = SavingNews(journal)
        self._store = store
        self._journal = journal
        self._planner = planner
        self._pictures = pictures
        self._hands = hands
        self._compacting = Compacting(store, journal, planner, pictures)
        self._counted: int | None = None
        """What the server counted for the request that the last reply answers."""
        self._agent: Agent | None = None
        self._recovered: Counter[str] = Counter()
        """Calls that were found in texts, by the model's digest."""
        self._stop = asyncio.Event()

    def ask(
        self,
        prompt: Prompt,
        unsent: Callable[[], Draft | None] | None = None,
        instead_of: Entry | None = None,
    ) -> AsyncGenerator[Event, None]:
        """See ``Conversation.ask``."""
        self._arm()
        parent = self.head if instead_of is None else instead_of.parent
        return self._asked(prompt, parent, unsent=unsent)

    def run_command(
        self, command: str, unsent: Callable[[], Draft | None] | None = None
    ) -> AsyncGenerator[Event, None]:
        """See ``Conversation.run_command``."""
        self._arm()
        return self._commanded(command, unsent)

    def retry(self) -> AsyncGenerator[Event, None]:
        """See ``Conversation.retry``."""
        self._arm()
        return self._retried()

    def compact(self, focus: str) -> AsyncGenerator[Event, None]:
        """See ``Conversation.compact``."""
        self._arm()
        return self._compacted(focus)

    def stop(self) -> None:
        """See ``Conversation.stop``."""
        self._stop.set()
        self._store.hurry(HURRY_SECONDS)
        if self._agent is not None:
            self._agent.stop()

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what is asked; False when it is not asked any more."""
        return self._agent is not None and self._agent.answer(question_id, answer)

    def require_idle(self) -> None:
        """Raises ``LocalAgentError`` while a turn runs."""
        if self.busy:
            raise LocalAgentError("A turn is running.", "Stop it with Esc first.")

    def moved(self, head: int | None) -> None:
        """The head was moved to another entry: what was counted on the way there says nothing of it."""
        self.head = head
        self.used_tokens = self._counted = None

    def weigh(self, usage: Usage) -> None:
        """Note what a reply took of the window."""
        self.used_tokens = (usage.prompt_tokens or 0) + (usage.reply_tokens or 0) or None
        self._counted = usage.prompt_tokens

    def _arm(self) -> None:
        """Forget an earlier stop. One that comes from now on counts, even before the turn's first event."""
        if not self.busy:
            self._stop.clear()
            self._store.hurry(None)

    async def _retried(self) -> AsyncGenerator[Event, None]:
        question = await self._last_question()
        again = Prompt(question.text, question.pictures)
        async with aclosing(self._asked(again, question.parent, question.context)) as events:
            async for event in events:
                yield event

    async def _asked(
        self,
        prompt: Prompt,
        parent: int | None,
        context: str | None = None,
        unsent: Callable[[], Draft | None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        self.require_idle()
        self.busy = True
        try:
            await self._hands.require_settled(parent, self._planner.mode)
            path = await self._look_back(parent)
            plan = replace(await self._plan(prompt, parent, context), unsent=unsent)
            if parent == self.head and not self._stop.is_set():
                async with aclosing(self._made_room(plan, path)) as events:
                    async for event in events:
                        yield event
                if self.head != parent:
                    plan, parent = await self._behind_summary(plan), self.head
                elif self._stop.is_set():
                    yield Notice("Stopped: nothing was summarised, and the question was not sent.")
                    yield TurnEnded(0, TurnStatus.INTERRUPTED, "interrupted", None)
                    return
            if plan.mode is Mode.PLAN:
                plan = replace(plan, uncertain=await self._hands.uncertain(parent))
            async with aclosing(self._run(plan)) as events:
                async for event in events:
                    yield event
        finally:
            self._rest()

    async def _look_back(self, parent: int | None) -> Sequence[Entry]:
        """The path that a question follows; what the model sees there of date and mode is told no more."""
        path = await self._journal.model_path(parent) if parent is not None else ()
        await asyncio.to_thread(self._planner.retell, path)
        return path

    async def _made_room(self, plan: TurnPlan, path: Sequence[Entry]) -> AsyncGenerator[Event, None]:
        """Have earlier turns summarised where the question would not leave the reply much of the window."""
        narrow = await self._compacting.due(plan, path, self._counted)
        # While files are half-way back nothing else moves the head.
        if narrow is not None and await self._hands.unfinished() is None:
            async with aclosing(self._compacting.run(plan, narrow, self._stop)) as events:
                async for event in events:
                    self._note(event)
                    yield event

    async def _behind_summary(self, plan: TurnPlan) -> TurnPlan:
        """The plan of a question that follows a summary now: what has left with the rest is told again."""
        await self._look_back(self.head)
        told = await asyncio.to_thread(self._planner.build, plan.text, self.head)
        return replace(plan, parent=self.head, context=told.context)

    async def _compacted(self, focus: str) -> AsyncGenerator[Event, None]:
        self.require_idle()
        before = self.head
        if before is None:
            raise UsageError("There is nothing here to summarise.", "Ask something first.")
        self.busy = True
        try:
            await self._hands.require_restored()
            plan = await unless_stopped(self._planner.plan("", before, ""), self._stop)
            if plan is None:
                return
            if plan.refusal is not None:
                raise plan.refusal
            await self._journal.saved()
            before = self.head
            path = await self._look_back(before)
            narrow = await self._compacting.wanted(plan, path)
            if narrow is None:
                raise UsageError("There is too little here for a summary to save anything.")
            for notice in plan.notices:
                yield Notice(notice)
            async with aclosing(self._compacting.run(plan, narrow, self._stop, focus)) as events:
                async for event in events:
                    self._note(event)
                    yield event
            if self._stop.is_set() and self.head == before:
                yield Notice("Stopped: nothing was summarised.")
        finally:
            self._rest()

    async def _commanded(
        self, command: str, unsent: Callable[[], Draft | None] | None
    ) -> AsyncGenerator[Event, None]:
        self.require_idle()
        self.busy = True
        try:
            await self._hands.require_settled(self.head, Mode.NORMAL)
            plan = self._planner.build_command(command, self.head)
            async with aclosing(self._run(replace(plan, unsent=unsent))) as events:
                async for event in events:
                    yield event
        finally:
            self._rest()

    async def _run(self, plan: TurnPlan) -> AsyncGenerator[Event, None]:
        self._hands.suit(plan.window)
        self._agent = Agent(
            self._planner.backend,
            self._journal,
            self._pictures,
            self._hands.toolbox,
            self._hands.authority,
            recovered=self._recovered,
            measuring=self._planner.measuring,
        )
        if self._stop.is_set():
            self._agent.stop()
        async with aclosing(self._agent.run(plan)) as events:
            async for event in events:
                self._note(event)
                if isinstance(event, UsageReported):
                    await self._planner.asked_with(event.window, plan)
                if (news := self.news.take()) is not None:
                    yield news
                yield event

    def _rest(self) -> None:
        self._agent = None
        self.busy = False
        self._store.hurry(None)

    async def _plan(self, prompt: Prompt, parent: int | None, context: str | None) -> TurnPlan:
        """Wait for the planner, but no longer than the person does."""
        plan = await unless_stopped(self._planned(prompt, parent, context), self._stop)
        return plan or replace(self._planner.build(prompt.text, parent, context), pictures=prompt.pictures)

    async def _planned(self, prompt: Prompt, parent: int | None, context: str | None) -> TurnPlan:
        note = await self._pictures.admit(prompt, parent)
        plan = await self._planner.plan(prompt.text, parent, context)
        notices = (*((note,) if note else ()), *plan.notices, *self._hands.dropped())
        plan = replace(plan, pictures=prompt.pictures, notices=notices)
        refuse_too_large(plan, self._planner.measuring)
        return plan

    def _note(self, event: Event) -> None:
        match event:
            case TurnStarted(question=question):
                self.head = question.id
            case ReplyRecorded(reply=reply):
                self.head = reply.id
            case UsageReported(usage=usage):
                self.weigh(usage)
            case Compacted(summary=summary, tokens_after=tokens):
                self.moved(summary.id)
                self.used_tokens = tokens
            case TurnEnded(reply=Entry(id=last)):
                self.head = last
            case _:
                pass

    async def _last_question(self) -> Entry:
        count = _LOOK_BACK
        while True:
            tail = await self._journal.tail(self._session_id, self.head, count)
            for entry in reversed(tail.entries):
                if entry.kind is Kind.QUESTION:
                    return entry
            if not tail.more:
                raise UsageError("There is no question to ask again yet.", "Type one and press Enter.")
            count *= 4

    @property
    def _session_id(self) -> int | None:
        return self._journal.info.id if self._journal.info is not None else None
