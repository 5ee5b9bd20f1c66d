"""One conversation of a front end: asks, retries, reads back, and keeps its place in the tree."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

from local_agent.agent.turn import Agent, TurnPlan
from local_agent.config.settings import Settings
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry, ErrorRecord, Kind, Slice, Usage
from local_agent.domain.errors import LocalAgentError, StoreError, UsageError
from local_agent.domain.events import Event, TurnEnded, TurnStarted, UsageReported
from local_agent.domain.mirror import Mirrored
from local_agent.domain.models import ModelInfo, ServerState
from local_agent.domain.sessions import Holder, SessionInfo
from local_agent.domain.thinking import Thinking
from local_agent.domain.titles import given_title
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.pictures import Pictures
from local_agent.runtime.planning import Planner
from local_agent.runtime.saving_news import News, SavingNews
from local_agent.runtime.search import Search
from local_agent.runtime.showing import Showing
from local_agent.runtime.stopping import unless_stopped
from local_agent.store.store import Store

MIRROR_SECONDS = 0.5
HURRY_SECONDS = 0.7
"""How long a write may still wait for another program's lock once the person wants an end."""


class Conversation:
    """A session, or what will be one once its first question is asked."""

    def __init__(
        self,
        store: Store,
        journal: ConversationJournal,
        planner: Planner,
        pictures: Pictures,
        *,
        viewed: SessionInfo | None = None,
        head: int | None = None,
        notices: tuple[str, ...] = (),
    ) -> None:
        self._store = store
        self._journal = journal
        self._news = SavingNews(journal)
        self._planner = planner
        self.pictures = Showing(pictures, planner.router, journal)
        self._viewed = viewed
        self._head = head
        self.search = Search(store, journal, lambda: (self._session_id, self._head))
        self._agent: Agent | None = None
        self._question: Entry | None = None
        self._stop = asyncio.Event()
        self.busy = False
        self.used_tokens: int | None = None
        self.notices = notices

    @property
    def info(self) -> SessionInfo | None:
        """The session; None before the first question."""
        return self._viewed or self._journal.info

    @property
    def handle(self) -> str:
        """Empty before the first question and when nothing is saved."""
        return self.info.handle if self.info is not None and self.saved else ""

    @property
    def title(self) -> str:
        """Empty before the first question."""
        return self.info.title if self.info is not None else ""

    @property
    def saved(self) -> bool:
        """False with ``--no-save``."""
        return self._store.durable

    @property
    def unsaved(self) -> bool:
        """True while something on screen is in memory alone."""
        return self._journal.trouble is not None

    @property
    def read_only(self) -> bool:
        """True for a view on a session that another process holds."""
        return self._viewed is not None

    @property
    def writer(self) -> Holder | None:
        """Who writes what is only read here; None for a session of our own, and once that process is gone."""
        return self._viewed.holder if self._viewed is not None else None

    @property
    def model(self) -> str:
        """Empty while none is chosen."""
        return self._planner.model

    @property
    def model_info(self) -> ModelInfo | None:
        """What is known of the model; None while none is chosen."""
        return self._planner.info

    @property
    def planner(self) -> Planner:
        """What its turns are asked with, and on which model."""
        return self._planner

    @property
    def thinking(self) -> Thinking | None:
        """What is wanted of the model; None leaves it to the model."""
        return self._planner.thinking

    def set_thinking(self, value: Thinking | None) -> None:
        """From the next turn on, in this conversation; None is again what the settings say."""
        self._planner.thinking = value

    @property
    def window(self) -> int:
        """Context window in tokens that requests are sent with; 0 while unknown."""
        return self._planner.window

    @property
    def backend_kind(self) -> str:
        """``ollama`` or ``embedded``."""
        return self._planner.backend.kind

    async def state(self) -> ServerState:
        """Look at the backend that answers here; a resumed conversation may have one of its own."""
        return await self._planner.backend.state()

    async def prepare(self) -> None:
        """Choose model and window now rather than with the first question; never raises for a server."""
        await self._planner.prepare()

    async def recall(self) -> None:
        """Take up a resumed conversation: its last usage and what its last question was given."""
        tail = await self.tail(8)
        for entry in tail.entries:
            if entry.kind is Kind.QUESTION:
                self._planner.asked(entry)
        if tail.turns:
            self._weigh(tail.turns[max(tail.turns)].usage)

    def ask(
        self, prompt: Prompt, unsent: Callable[[], Draft | None] | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run one turn. Closing or cancelling the generator records the interruption.

        ``unsent`` tells what is left of the person's draft when the question is about to be stored: it
        replaces the saved one in the same transaction, so that the question is always in one of both.
        """
        self._arm()
        return self._turn(prompt, self._head, unsent=unsent)

    def retry(self) -> AsyncGenerator[Event, None]:
        """Ask the last question again as a new branch."""
        self._arm()
        return self._retry()

    async def _retry(self) -> AsyncGenerator[Event, None]:
        question = await self._last_question()
        again = Prompt(question.text, question.pictures)
        async with aclosing(self._turn(again, question.parent, question.context)) as events:
            async for event in events:
                yield event

    def _arm(self) -> None:
        """Forget an earlier stop. One that comes from now on counts, even before the turn's first event."""
        if not self.busy:
            self._stop.clear()
            self._store.hurry(None)

    def stop(self) -> None:
        """Ask the running turn to end; its stream then ends with an interrupted ``TurnEnded``."""
        self._stop.set()
        self._store.hurry(HURRY_SECONDS)
        if self._agent is not None:
            self._agent.stop()

    async def tail(self, count: int = 40) -> Slice:
        """The last entries of the path, oldest first."""
        return await self._journal.tail(self._session_id, self._head, count)

    async def before(self, entry_id: int, count: int = 40) -> Slice:
        """The entries of the path that come before ``entry_id``."""
        return await self._journal.before(self._session_id, entry_id, count)

    async def follow(self) -> AsyncGenerator[Mirrored, None]:
        """Look again and again at a session that another process writes; for a view only."""
        while self._viewed is not None:
            seen = await self._store.mirrored(self._viewed.id)
            self._viewed = replace(self._viewed, holder=seen.holder)
            yield seen
            await asyncio.sleep(MIRROR_SECONDS)

    async def rename(self, title: str) -> None:
        """Set the title for good."""
        held = self._journal.held
        if held is None:
            raise UsageError("There is nothing to rename yet.", "Ask something first.")
        await held.rename(given_title(title))

    async def set_model(self, name: str | None) -> None:
        """Use ``name`` from the next turn on, None: whichever suits; remember it with the session."""
        router = self._planner.router
        await (router.route() if name is None else router.choose(name))
        if self._journal.held is not None:
            await self._journal.held.set_model(router.name, pinned=router.pinned)

    def adopt(self, settings: Settings) -> None:
        """Ask by other settings from the next turn on."""
        self._planner.adopt(settings)

    async def forget_pictures(self) -> int:
        """Leave the pictures of all questions up to here out of requests, screens and exports; how many."""
        self._require_writable()
        self._head, count = await self.pictures.forget(self._head)
        return count

    async def errors(self) -> list[ErrorRecord]:
        """The trail of failed turns, newest last."""
        return await self._store.errors(self.info.id) if self.info is not None else []

    async def save(self) -> News | None:
        """Try to write what waits; what became of it, when that is news.

        Raises ``LeaseLost`` and ``Outdated``.
        """
        await self._journal.save()
        return self._news.take()

    async def save_at_last(self) -> News | None:
        """``save`` for somebody who leaves: from now on no lock is waited for long; raises nothing."""
        self._store.hurry(HURRY_SECONDS)
        try:
            return await self.save()
        except StoreError:
            return None

    def set_aside(self, draft: str = "") -> Path | None:
        """Put what is not on disk, and what was not sent yet, into a file of the person's; its path."""
        return self._journal.set_aside(draft)

    async def close(self) -> None:
        """Try once more to write what waits, and give the lease back: it can be resumed anywhere."""
        await self.save_at_last()
        if self._journal.held is not None:
            await self._journal.held.release()

    async def _turn(
        self,
        prompt: Prompt,
        parent: int | None,
        context: str | None = None,
        unsent: Callable[[], Draft | None] | None = None,
    ) -> AsyncGenerator[Event, None]:
        self._require_writable()
        self.busy = True
        try:
            plan = replace(await self._plan(prompt, parent, context), unsent=unsent)
            self._agent = Agent(self._planner.backend, self._journal, self.pictures)
            if self._stop.is_set():
                self._agent.stop()
            async with aclosing(self._agent.run(plan)) as events:
                async for event in events:
                    self._note(event)
                    if (news := self._news.take()) is not None:
                        yield news
                    yield event
        finally:
            self._agent = None
            self.busy = False
            self._store.hurry(None)

    async def _plan(self, prompt: Prompt, parent: int | None, context: str | None) -> TurnPlan:
        """Wait for the planner, but no longer than the person does."""
        plan = await unless_stopped(self._planned(prompt, parent, context), self._stop)
        return plan or replace(self._planner.build(prompt.text, parent, context), pictures=prompt.pictures)

    async def _planned(self, prompt: Prompt, parent: int | None, context: str | None) -> TurnPlan:
        note = await self.pictures.admit(prompt, parent)
        plan = await self._planner.plan(prompt.text, parent, context)
        notices = (*((note,) if note else ()), *plan.notices)
        return replace(plan, pictures=prompt.pictures, notices=notices)

    def _note(self, event: Event) -> None:
        match event:
            case TurnStarted(question=question):
                self._head = question.id
                self._question = question
            case UsageReported(usage=usage):
                self._weigh(usage)
            case TurnEnded(reply=Entry(id=reply)):
                self._head = reply
                if self._question is not None:
                    # A question without an answer is not sent again, nor is what it was given.
                    self._planner.asked(self._question)
            case _:
                pass

    @property
    def _session_id(self) -> int | None:
        return self.info.id if self.info is not None else None

    def _weigh(self, usage: Usage) -> None:
        self.used_tokens = (usage.prompt_tokens or 0) + (usage.reply_tokens or 0) or None

    async def _last_question(self) -> Entry:
        count = 8
        while True:
            tail = await self.tail(count)
            for entry in reversed(tail.entries):
                if entry.kind is Kind.QUESTION:
                    return entry
            if not tail.more:
                raise UsageError("There is no question to ask again yet.", "Type one and press Enter.")
            count *= 4

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError("This session is open read-only.", "Close it where it is open, or take it over.")
        if self.busy:
            raise LocalAgentError("A turn is running.", "Stop it with Esc first.")
