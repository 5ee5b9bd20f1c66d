"""The journal of one conversation: what can't be written now waits, and is written in order when it can."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, EntryStatus, Slice, TurnStatus, Usage
from local_agent.domain.errors import LeaseLost, NotSaved, Outdated, StoreError
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.runtime.set_aside import SetAside
from local_agent.runtime.unsaved import UnsavedTurn, UnsavedTurns
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
        self.trouble: StoreError | None = None
        """Why what is on screen is not on disk; None while it is."""
        self._store = store
        self._birth = birth
        self._held = held
        self._aside = aside
        self._unsaved = UnsavedTurns()
        self._lost: StoreError | None = None
        self._saving: asyncio.Task[None] | None = None

    @property
    def held(self) -> HeldSession | None:
        """The session with its lease; None before the first question is stored."""
        return self._held

    @property
    def info(self) -> SessionInfo | None:
        """The session as of its last write; None before the first question is stored."""
        return self._held.info if self._held is not None else None

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
            if not self._unsaved.waiting and self._held is not None:
                await self._held.keep(self._unsaved.find(turn).turn, reply)
                self.trouble = None
        except LeaseLost:
            raise
        except StoreError as error:
            self.trouble = error

    async def settle(self, turn: OpenTurn, outcome: Outcome) -> Entry | None:
        """Record the turn's end."""
        ending = self._unsaved.find(turn)
        self._unsaved.end(ending, outcome)
        await self._write(ending)
        return ending.reply

    async def model_path(self, leaf: int) -> Sequence[Entry]:
        """What requests are built from."""
        end, stored = self._unsaved.path(leaf)
        return [*(await self._store.model_path(stored) if stored is not None else ()), *end]

    async def tail(self, session_id: int | None, leaf: int | None, count: int) -> Slice:
        """The last ``count`` entries of the path to ``leaf``."""
        end, stored = self._unsaved.path(leaf)
        if not end and session_id is not None:
            return await self._store.tail(session_id, count)
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
        return await self._store.before(session_id, stored, count)

    async def save(self) -> None:
        """Write what waits, in order, as far as it can be written now.

        Raises ``LeaseLost`` and ``Outdated``, after which nothing will be.
        """
        if self._lost is None:
            if self._saving is None or self._saving.done():
                self._saving = asyncio.create_task(self._save())
            # Whoever gives up waiting must not leave it unknown whether a question was written.
            await asyncio.shield(self._saving)
        if self._lost is not None:
            raise self._farewell(self._lost)

    async def forget_pictures(self, leaf: int) -> int:
        """Write a marker behind ``leaf``, all of which is on disk; the id of the marker."""
        await self.save()
        if self._held is None or self.trouble is not None:
            raise NotSaved("What is on screen is not saved yet.", "Try again once it is.")
        return await self._held.mark(self._unsaved.real(leaf), PICTURES_FORGOTTEN)

    def set_aside(self, draft: str = "") -> Path | None:
        """Put what is not on disk, and what was not sent yet, into a file; None when there is nothing."""
        waiting = self._unsaved.waiting
        if self._aside is None or not (waiting or draft.strip()):
            return None
        reason = str(self._lost or self.trouble or "")
        return self._aside.write(self._place()[1], reason, waiting, draft)

    @property
    def lost(self) -> bool:
        """True once nothing will be written here any more."""
        return self._lost is not None

    async def _write(self, turn: UnsavedTurn) -> None:
        await self.save()
        turn.given_out = turn.given_out or turn.writable

    async def _save(self) -> None:
        try:
            while self._unsaved.waiting:
                await self._write_next(self._unsaved.waiting[0])
                if not self._unsaved.waiting:
                    self.trouble = None
        except (LeaseLost, Outdated) as error:
            self.trouble = self._lost = error
        except StoreError as error:
            self.trouble = error

    async def _write_next(self, turn: UnsavedTurn) -> None:
        if not turn.stored:
            opening = replace(turn.opening, parent=self._unsaved.real(turn.opening.parent))
            if self._held is None:
                self._held, stored = await self._store.create(self._birth(opening), opening)
            else:
                stored = await self._held.begin(opening)
            self._unsaved.begun(turn, stored)
        elif self._held is not None and turn.outcome is not None:
            self._unsaved.ended(turn, await self._held.settle(turn.turn, turn.outcome))

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
