"""The journal of one conversation: what can't be written now waits, and is written in order when it can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from local_agent.domain.entries import Entry, EntryStatus, Slice, TurnStatus, Usage
from local_agent.domain.errors import LeaseLost, NotSaved, Outdated, StoreError
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.domain.tools import Effect, FileChange
from local_agent.runtime.set_aside import SetAside
from local_agent.runtime.unsaved import UnsavedTurns
from local_agent.runtime.unsaved_turn import UnsavedTurn
from local_agent.runtime.writer import NOTHING_SAVED, Writer
from local_agent.store.held import HeldSession
from local_agent.store.store import Store

_GIVEN_UP = Outcome(TurnStatus.INTERRUPTED, EntryStatus.INTERRUPTED, "interrupted", Reply(), Usage())


class ConversationJournal:
    """Implements ``domain.ports.Journal`` over a session that may not exist yet.

    Every write joins what waits and is tried at once, in order.
    """

    def __init__(
        self,
        store: Store,
        birth: Callable[[Opening], NewSession],
        held: HeldSession | None = None,
        aside: SetAside | None = None,
    ) -> None:
        self._store = store
        self._aside = aside
        self._unsaved = UnsavedTurns()
        self._writer = Writer(store, birth, held, self._unsaved)

    @property
    def trouble(self) -> StoreError | None:
        """Why what is on screen is not on disk; None while it is."""
        return self._writer.trouble

    @property
    def held(self) -> HeldSession | None:
        """The session with its lease; None before the first question is stored."""
        return self._writer.held

    @property
    def info(self) -> SessionInfo | None:
        """The session as of its last write; None before the first question is stored."""
        return self.held.info if self.held is not None else None

    @property
    def unsaved(self) -> UnsavedTurns:
        """What is not on disk."""
        return self._unsaved

    async def begin(self, opening: Opening) -> OpenTurn:
        """Commit the question; session, lease and workspace in the same transaction when it is the first."""
        turn = self._unsaved.begin(opening, *self._place())
        try:
            await self._write(turn)
        except (StoreError, asyncio.CancelledError):
            self._unsaved.end(turn, _GIVEN_UP)
            raise
        # What is gone at exit has no name that a person could use.
        return turn.turn if self._store.durable else replace(turn.turn, handle="")

    async def keep(self, turn: OpenTurn, reply: Reply) -> None:
        """Save the reply as far as it has come, after what waits."""
        try:
            if self._unsaved.waiting:
                await self.save()
            if not self._unsaved.waiting and self.held is not None:
                await self.held.keep(self._unsaved.find(turn).turn, reply)
                self._writer.trouble = None
        except LeaseLost:
            raise
        except StoreError as error:
            self._writer.trouble = error

    async def record(
        self, turn: OpenTurn, reply: Reply, effects: Sequence[Effect]
    ) -> tuple[Entry, tuple[Execution, ...]]:
        """Record a reply that asks for tools, and its calls."""
        unsaved = self._unsaved.find(turn)
        step = self._unsaved.record(unsaved, reply, effects)
        await self._write(unsaved)
        return step.entry, tuple(unsaved.executions[key] for key in step.ids)

    async def note(self, execution: Execution, kind: EventKind, detail: Mapping[str, object]) -> Execution:
        """Add an event that neither starts nor ends a call.

        Of a turn that is over and written, such as a job's end, it does not wait: ``StoreError`` when it
        can't be written now.
        """
        turn = self._unsaved.with_call(execution)
        if turn is not None:
            self._unsaved.note(turn, execution.id, kind, detail)
            await self._write(turn)
            return turn.executions[execution.id]
        await self.save()
        return await self._writer.require_saved().note(execution, kind, detail)

    async def start(self, execution: Execution, facts: Mapping[str, object]) -> Execution:
        """Commit that it starts now. ``NotSaved``, and nothing may run, while anything waits to be written,
        unless the call only reads.
        """
        turn = self._require_turn(execution)
        reads = turn.executions[execution.id].effect is Effect.READ_ONLY
        step = self._unsaved.note(turn, execution.id, EventKind.STARTED, facts)
        try:
            await self._write(turn)
            if not reads:
                self._require_saved()
        except BaseException:
            # What is being written now can't be taken back; its call is ended by whoever wanted it.
            if step in turn.steps and step is not self._writer.in_flight:
                self._unsaved.take_back(turn, step)
            raise
        return turn.executions[execution.id]

    async def finish(
        self,
        execution: Execution,
        kind: EventKind,
        receipt: Receipt,
        text: str,
        changes: Sequence[FileChange],
    ) -> tuple[Execution, Entry]:
        """Record the end of a call, what it changed, and its result."""
        turn = self._require_turn(execution)
        step = self._unsaved.finish(turn, execution.id, kind, receipt, text, changes)
        await self._write(turn)
        return turn.executions[execution.id], step.entry

    async def requested(self, turn: OpenTurn) -> tuple[Execution, ...]:
        """The executions of the turn's own ``!command``."""
        unsaved = self._unsaved.find(turn)
        mine = unsaved.turn.question.id
        return tuple(each for each in unsaved.executions.values() if each.entry_id == mine)

    async def settle(self, turn: OpenTurn, outcome: Outcome) -> Entry | None:
        """Record the turn's end."""
        ending = self._unsaved.find(turn)
        self._unsaved.end(ending, outcome)
        await self._write(ending)
        return ending.reply

    async def model_path(self, leaf: int) -> Sequence[Entry]:
        """What requests are built from."""
        end, stored = self._unsaved.path(leaf)
        beginning = await self._store.model_path(stored) if stored is not None else []
        return self._unsaved.with_results((*beginning, *end))

    async def tail(self, session_id: int | None, leaf: int | None, count: int) -> Slice:
        """The last ``count`` entries of the path to ``leaf``."""
        end, stored = self._unsaved.path(leaf)
        if not end and session_id is not None:
            return self._unsaved.onto(await self._store.tail(session_id, count))
        beginning, room = Slice((), {}, {}, more=stored is not None), count - len(end)
        if session_id is not None and stored is not None and room > 0:
            beginning = await self._store.tail(session_id, room, leaf=stored)
        return self._unsaved.onto(beginning, end[-count:], more=room < 0)

    async def before(self, session_id: int | None, entry_id: int, count: int) -> Slice:
        """The ``count`` entries that lead to ``entry_id``."""
        end, stored = self._unsaved.path(entry_id)
        if end:
            return await self.tail(session_id, end[-1].parent, count)
        if session_id is None or stored is None:
            return Slice((), {}, {}, more=False)
        return self._unsaved.onto(await self._store.before(session_id, stored, count))

    async def save(self) -> None:
        """Write what waits, in order, as far as it can be written now.

        Raises ``LeaseLost`` and ``Outdated``, after which nothing will be.
        """
        await self._writer.save()
        if self._writer.lost is not None:
            raise self._farewell(self._writer.lost)

    async def saved(self) -> HeldSession:
        """The session, once all that waits is written. Raises ``NotSaved``."""
        await self.save()
        if self.trouble is not None:
            raise NotSaved(*NOTHING_SAVED)
        return self._writer.require_saved()

    async def mark(self, leaf: int, text: str) -> int:
        """Write a marker behind ``leaf``, all of which is on disk; the id of the marker."""
        return await (await self.saved()).mark(self._unsaved.real(leaf), text)

    def set_aside(self, draft: str = "") -> Path | None:
        """Put what is not on disk, and what was not sent yet, into a file; None when there is nothing."""
        waiting = self._unsaved.waiting
        if self._aside is None or not (waiting or draft.strip()):
            return None
        reason = str(self._writer.lost or self.trouble or "")
        return self._aside.write(self._place()[1], reason, waiting, draft)

    @property
    def lost(self) -> bool:
        """True once nothing will be written here any more."""
        return self._writer.lost is not None

    async def _write(self, turn: UnsavedTurn) -> None:
        await self.save()
        turn.given_out = turn.given_out or turn.writable

    def _require_turn(self, execution: Execution) -> UnsavedTurn:
        turn = self._unsaved.with_call(execution)
        if turn is None:
            raise StoreError(f"The turn of call {execution.id} is over.", "Nothing of it is run.")
        return turn

    def _require_saved(self) -> None:
        try:
            self._writer.require_saved()
        except StoreError as trouble:
            line = f"{trouble.line} What changes anything is not run before all is saved."
            raise NotSaved(line, trouble.hint) from trouble

    def _farewell(self, error: StoreError) -> StoreError:
        """The error with the way back, and with what was kept beside the database."""
        hint = error.hint
        if isinstance(error, Outdated) and self.info is not None:
            hint = f"Quit, then: local-agent --resume {self.info.handle}"
        path = self.set_aside()
        if path is not None:
            hint = f"{hint.rstrip('.')}. What is missing there is in {path}"
        return type(error)(error.line, hint, error.raw)

    def _place(self) -> tuple[int, str]:
        return (self.info.id, self.info.handle) if self.info is not None else (0, "")
