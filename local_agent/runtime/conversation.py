"""One conversation of a front end: what it is, what was said in it, and what can be done with it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from local_agent.config.settings import Settings
from local_agent.domain.approvals import Answer
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry, ErrorRecord, Kind, Slice
from local_agent.domain.errors import StoreError, UsageError
from local_agent.domain.events import Event
from local_agent.domain.ledger import Execution, Pending
from local_agent.domain.mirror import Mirrored
from local_agent.domain.models import ModelInfo, ServerState
from local_agent.domain.modes import Mode
from local_agent.domain.sessions import Holder, SessionInfo
from local_agent.domain.summaries import read_note
from local_agent.domain.thinking import Thinking
from local_agent.domain.titles import given_title
from local_agent.runtime.asking import HURRY_SECONDS, Asking
from local_agent.runtime.context import ContextFacts, gather
from local_agent.runtime.hands import Hands
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.pictures import Pictures
from local_agent.runtime.planning import Planner
from local_agent.runtime.saving_news import News
from local_agent.runtime.search import Search
from local_agent.runtime.showing import Showing
from local_agent.runtime.time_travel import TimeTravel
from local_agent.store.store import Store

MIRROR_SECONDS = 0.5


class Conversation:
    """A session, or what will be one once its first question is asked."""

    def __init__(
        self,
        store: Store,
        journal: ConversationJournal,
        planner: Planner,
        pictures: Pictures,
        hands: Hands,
        *,
        viewed: SessionInfo | None = None,
        head: int | None = None,
        notices: tuple[str, ...] = (),
    ) -> None:
        self._store = store
        self._journal = journal
        self._planner = planner
        self.pictures = Showing(pictures, planner.router, journal)
        self.hands = hands
        self._asking = Asking(store, journal, planner, self.pictures, hands, head)
        self._viewed = viewed
        self.time = TimeTravel(store, journal, self._asking, hands.restoring, lambda: self.info)
        self.search = Search(store, journal, lambda: (self._session_id, self._asking.head))
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
    def busy(self) -> bool:
        """True while a turn runs."""
        return self._asking.busy

    @property
    def used_tokens(self) -> int | None:
        """What the last request and its reply took of the window."""
        return self._asking.used_tokens

    @property
    def mode(self) -> Mode:
        """How much the model may do by itself, from the next turn on."""
        return self._planner.mode

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

    async def context(self) -> ContextFacts:
        """What the next request is made of. Raises ``StoreError`` where that can't be read."""
        return await gather(self._planner, self._journal, self._asking.head)

    async def prepare(self) -> None:
        """Choose model and window now rather than with the first question; never raises for a server."""
        await self._planner.prepare()

    async def recall(self) -> None:
        """Take up a resumed conversation: its last usage."""
        tail = await self.tail(8)
        # A command of the person's own takes nothing of the window.
        if asked := [key for key, turn in tail.turns.items() if turn.usage.prompt_tokens is not None]:
            self._asking.weigh(tail.turns[max(asked)].usage)
        if tail.entries and tail.entries[-1].kind is Kind.SUMMARY:
            # Nothing was asked behind it yet.
            self._asking.used_tokens = read_note(tail.entries[-1].context).tokens_after or None

    def ask(
        self,
        prompt: Prompt,
        unsent: Callable[[], Draft | None] | None = None,
        *,
        instead_of: Entry | None = None,
    ) -> AsyncGenerator[Event, None]:
        """Run one turn. Closing or cancelling the generator records the interruption.

        ``instead_of`` is an earlier question of the tree that this one is asked in place of, as a new branch.
        ``unsent`` tells what is left of the person's draft when the question is about to be stored: it
        replaces the saved one in the same transaction, so that the question is always in one of both.
        """
        self._require_writable()
        return self._asking.ask(prompt, unsent, instead_of)

    def run_command(
        self, command: str, unsent: Callable[[], Draft | None] | None = None
    ) -> AsyncGenerator[Event, None]:
        """Run a command of the person's own as a turn; the model reads of it with the next question."""
        self._require_writable()
        return self._asking.run_command(command, unsent)

    def retry(self) -> AsyncGenerator[Event, None]:
        """Ask the last question again as a new branch."""
        self._require_writable()
        return self._asking.retry()

    def compact(self, focus: str = "") -> AsyncGenerator[Event, None]:
        """Put a summary into the place of earlier turns, above all of what is about ``focus``.

        Raises ``UsageError`` where nothing would be gained, and ``ModelError`` without a model. Stopped, it
        ends without an event that says how, and nothing is changed.
        """
        self._require_writable()
        return self._asking.compact(focus)

    def stop(self) -> None:
        """Ask the running turn to end; its stream then ends with an interrupted ``TurnEnded``."""
        self._asking.stop()

    def answer(self, question_id: str, answer: Answer) -> bool:
        """Answer what the running turn asks; False when it is not asked any more."""
        return self._asking.answer(question_id, answer)

    async def set_mode(self, mode: Mode) -> None:
        """From the next turn on, and remembered with the session."""
        self._planner.mode = mode
        if self._journal.held is not None:
            await self._journal.held.set_mode(mode)

    async def executions(self) -> Sequence[Execution]:
        """The calls of this session, oldest first, on whatever branch."""
        return await self._store.executions(self._session_id) if self._session_id is not None else ()

    async def pending(self) -> Sequence[Pending]:
        """What has to be settled before a turn that may have effects; see ``Hands.require_settled``."""
        return await self.hands.pending(self._asking.head)

    async def tail(self, count: int = 40) -> Slice:
        """The last entries of the path, oldest first."""
        return await self._journal.tail(self._session_id, self._asking.head, count)

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
        self._asking.require_idle()
        self._asking.head, count = await self.pictures.forget(self._asking.head)
        return count

    async def errors(self) -> list[ErrorRecord]:
        """The trail of failed turns, newest last."""
        return await self._store.errors(self.info.id) if self.info is not None else []

    async def save(self) -> News | None:
        """Try to write what waits; what became of it, when that is news.

        Raises ``LeaseLost`` and ``Outdated``.
        """
        await self._journal.save()
        return self._asking.news.take()

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
        """End what runs behind it, write what waits, and give the lease back: it can be resumed anywhere."""
        await self.hands.close()
        await self.save_at_last()
        if self._journal.held is not None:
            await self._journal.held.release()

    @property
    def _session_id(self) -> int | None:
        return self.info.id if self.info is not None else None

    def _require_writable(self) -> None:
        if self.read_only:
            raise StoreError("This session is open read-only.", "Close it where it is open, or take it over.")
