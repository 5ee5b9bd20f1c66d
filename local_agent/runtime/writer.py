"""Writes what waits of a conversation into the database, in order, and remembers why it can't."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace

from local_agent.domain.errors import LeaseLost, NotSaved, Outdated, StoreError
from local_agent.domain.executions import NotAllowed
from local_agent.domain.ledger import EventKind
from local_agent.domain.ports import Opening
from local_agent.domain.sessions import NewSession
from local_agent.runtime.unsaved import UnsavedTurns
from local_agent.runtime.unsaved_turn import Finished, Noted, Recorded, Step, UnsavedTurn
from local_agent.store.held import HeldSession
from local_agent.store.store import Store

_log = logging.getLogger(__name__)

NOTHING_SAVED = "What is on screen is not saved yet.", "Try again once it is."


class Writer:
    """One conversation's way into the store; the first question brings the session with it."""

    def __init__(
        self,
        store: Store,
        birth: Callable[[Opening], NewSession],
        held: HeldSession | None,
        unsaved: UnsavedTurns,
    ) -> None:
        self.held = held
        """The session with its lease; None before the first question is stored."""
        self.trouble: StoreError | None = None
        """Why what is on screen is not on disk; None while it is."""
        self.lost: StoreError | None = None
        """Why nothing will be written any more."""
        self.in_flight: Step | None = None
        """What is being written now, and can't be taken back."""
        self._store = store
        self._birth = birth
        self._unsaved = unsaved
        self._saving: asyncio.Task[None] | None = None

    async def save(self) -> None:
        """Write what waits as far as it can be written now; ``trouble`` and ``lost`` say how it went."""
        if self.lost is None:
            if self._saving is None or self._saving.done():
                self._saving = asyncio.create_task(self._save())
            # Whoever gives up waiting must not leave it unknown whether a question was written.
            await asyncio.shield(self._saving)

    def require_saved(self) -> HeldSession:
        """The session; raises ``NotSaved`` while anything waits."""
        if self.held is None or self._unsaved.waiting:
            raise self.trouble or NotSaved(*NOTHING_SAVED)
        return self.held

    async def _save(self) -> None:
        try:
            while self._unsaved.waiting:
                await self._write_next(self._unsaved.waiting[0])
                if not self._unsaved.waiting:
                    self.trouble = None
        except (LeaseLost, Outdated) as error:
            self.trouble = self.lost = error
        except StoreError as error:
            self.trouble = error

    async def _write_next(self, turn: UnsavedTurn) -> None:
        if not turn.stored:
            opening = replace(turn.opening, parent=self._unsaved.real(turn.opening.parent))
            if self.held is None:
                self.held, stored = await self._store.create(self._birth(opening), opening)
            else:
                stored = await self.held.begin(opening)
            self._unsaved.begun(turn, stored)
        elif self.held is None:
            raise NotSaved(*NOTHING_SAVED)
        elif turn.steps:
            await self._write_step(self.held, turn, turn.steps[0])
        elif turn.outcome is not None:
            self._unsaved.ended(turn, await self.held.settle(turn.turn, turn.outcome))

    async def _write_step(self, held: HeldSession, turn: UnsavedTurn, step: Step) -> None:
        self.in_flight = step
        try:
            match step:
                case Recorded(reply, effects, ids, entry):
                    at = entry.created_at
                    stored, _ = await held.record(turn.turn, reply, effects, ids=ids, at=at)
                    self._unsaved.recorded(turn, step, stored)
                case Noted(key, event):
                    execution, at = turn.executions[key], event.at
                    if event.kind is EventKind.STARTED:
                        await held.start(execution, event.detail, at=at)
                    else:
                        await held.note(execution, event.kind, event.detail, at=at)
                    turn.steps.remove(step)
                case Finished(key, kind, receipt, changes, entry):
                    execution, at = turn.executions[key], entry.created_at
                    _, stored = await held.finish(execution, kind, receipt, entry.text, changes, at=at)
                    self._unsaved.finished(turn, step, stored)
        except NotAllowed as error:
            # Somebody changed the ledger by hand. One event that never fits must not hold up all others.
            _log.warning("an event of the ledger is left out: %s", error)
            turn.steps.remove(step)
        finally:
            self.in_flight = None
