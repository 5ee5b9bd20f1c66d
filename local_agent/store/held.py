"""A session that this process may write: every write checks the lease in its own transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy.orm import Session

from local_agent.domain.crashpoints import CommitName
from local_agent.domain.entries import Entry, Turn
from local_agent.domain.errors import StoreError
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.purging import Purged
from local_agent.domain.sessions import SessionInfo
from local_agent.store import drafts, history, leases, purge, sessions, turns
from local_agent.store.gateway import Gateway
from local_agent.store.held_calls import HeldCalls
from local_agent.store.held_moves import HeldMoves
from local_agent.store.leases import Lease
from local_agent.store.models import SessionRow

T = TypeVar("T")

RELEASE_SECONDS = 1.0


class HeldSession(HeldCalls, HeldMoves):
    """Implements ``domain.ports.Journal`` for one session; writes raise ``LeaseLost`` once it was taken over.

    ``interrupted`` is the turn in which the process that held it before died.
    """

    def __init__(
        self, gateway: Gateway, lease: Lease, info: SessionInfo, interrupted: Turn | None = None
    ) -> None:
        self._gateway = gateway
        self._lease = lease
        self.info = info
        self.interrupted = interrupted
        self.released = False

    @property
    def token(self) -> str:
        """What the row of the lease says while the session is ours."""
        return self._lease.token

    async def begin(self, opening: Opening) -> OpenTurn:
        """Commit the question before its request goes out."""

        unsent = opening.unsent() if opening.unsent is not None else None

        def work(db: Session) -> tuple[OpenTurn, int]:
            if unsent is not None:
                drafts.save(db, self.info.workspace_root, self.info.id, unsent)
            return turns.begin(db, self.info.id, self.info.handle, opening), self._branches(db)

        turn, branches = await self._write(work, "turn.begin")
        self._moved_to(turn.question, branches)
        self.info = replace(self.info, turn_count=self.info.turn_count + 1)
        return turn

    async def keep(self, turn: OpenTurn, reply: Reply) -> None:
        """Save the reply as far as it has come; the next call replaces it."""
        await self._write(lambda db: turns.keep(db, turn, reply, self._lease.token), "reply.keep")

    async def settle(self, turn: OpenTurn, outcome: Outcome) -> Entry | None:
        """The reply as an entry, the head on it, the turn's end, the open row gone."""

        def work(db: Session) -> tuple[Entry | None, SessionInfo]:
            entry = turns.settle(db, turn, outcome)
            return entry, sessions.by_id(db, self.info.id)

        entry, self.info = await self._write(work, "turn.settle")
        return entry

    async def model_path(self, leaf: int) -> Sequence[Entry]:
        """What requests are built from, results included, oldest first."""
        return await self._gateway.read(lambda db: history.model_path(db, leaf))

    async def mark(self, parent: int | None, text: str) -> int:
        """Put a marker behind ``parent`` and move the head to it; its id."""

        def work(db: Session) -> tuple[Entry, int]:
            return turns.mark(db, self.info.id, parent, text), self._branches(db)

        entry, branches = await self._write(work, "session.mark")
        self._moved_to(entry, branches)
        return entry.id

    async def set_model(self, model: str, pinned: bool) -> None:
        """The model of the next turns; ``pinned`` when a person chose it."""
        await self._change("session.set_model", model=model, model_pinned=pinned)
        self.info = replace(self.info, model=model, model_pinned=pinned)

    async def set_mode(self, mode: str) -> None:
        """How much the model may do by itself from the next turn on."""
        await self._change("session.set_mode", mode=mode)
        self.info = replace(self.info, mode=mode)

    async def rename(self, title: str) -> None:
        """Set the title for good."""
        await self._change("session.rename", title=title, title_source="person")
        self.info = replace(self.info, title=title, title_source="person")

    async def purge(self) -> Purged:
        """Delete the session for good; ``StoreError`` for one that is not in the trash."""
        return await self._write(lambda db: purge.purge(db, self.info.id), "session.purge")

    async def require_held(self) -> None:
        """Raise ``LeaseLost`` once the session is another process's."""
        await self._gateway.read(lambda db: leases.require(db, self._lease))

    async def release(self) -> None:
        """Let the session go, in a second at most.

        A row that can't be written goes on naming this process; the next holder finds its lock free.
        """
        if self.released:
            return
        self.released = True
        try:
            async with asyncio.timeout(RELEASE_SECONDS):
                await self._gateway.write(lambda db: leases.forget_holder(db, self._lease), "lease.release")
        except (StoreError, TimeoutError):
            pass
        finally:
            self._lease.lock.release()

    async def _change(self, name: CommitName, **values: object) -> None:
        await self._write(lambda db: sessions.change(db, self.info.id, **values), name)

    async def _write(self, work: Callable[[Session], T], name: CommitName) -> T:
        def unit(db: Session) -> T:
            leases.require(db, self._lease)
            return work(db)

        return await self._gateway.write(unit, name)

    def _branches(self, db: Session) -> int:
        return db.get_one(SessionRow, self.info.id).branch_count + 1

    def _moved_to(self, entry: Entry, branches: int = 0) -> None:
        self.info = replace(
            self.info,
            head=entry.id,
            last_entry=entry.id,
            last_activity=entry.created_at,
            branches=branches or self.info.branches,
        )
