"""Sessions come into this process's hands, and go back."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.entries import Turn
from local_agent.domain.errors import SessionHeld, StoreError
from local_agent.domain.handles import new_handle
from local_agent.domain.ports import Opening, OpenTurn
from local_agent.domain.sessions import NewSession, SessionInfo
from local_agent.store import drafts, leases, sessions, turns
from local_agent.store.gateway import Gateway
from local_agent.store.held import HeldSession
from local_agent.store.leases import FIRST_GENERATION, KernelLocks, Lease
from local_agent.store.models import LeaseRow, SessionRow

ATTEMPTS = 5
LOOK_SECONDS = 0.02
LOOK_SECONDS_AT_MOST = 0.5
"""Many that look often would keep the one from writing that they wait for."""
UNNAMED_SECONDS = 10.0
"""How long a lock may be held before the row names its holder, or after it named one that is gone."""


class _HandleTaken(Exception):
    pass


class _GenerationMoved(Exception):
    pass


class _LockBusy(Exception):
    """The lock is taken by a process that the row does not name yet, or names no more."""


@dataclass(frozen=True, slots=True)
class _Taken:
    info: SessionInfo
    interrupted: Turn | None


class Holding:
    """Creates, holds and takes over sessions."""

    def __init__(self, gateway: Gateway, locks: KernelLocks) -> None:
        self._gateway = gateway
        self._locks = locks
        self._held: list[HeldSession] = []

    async def create(self, new: NewSession, opening: Opening) -> tuple[HeldSession, OpenTurn]:
        """A new session with its lease and first question, or nothing at all."""
        for _ in range(ATTEMPTS):
            try:
                return await self._create(new_handle(), new, opening)
            except _HandleTaken:
                continue
        raise StoreError("No free session handle was found.", "Try again.")

    async def hold(self, handle: str) -> HeldSession:
        """Take the lease of a session whose holder let it go or died.

        ``SessionHeld`` names the one that has the lock, also when it took it at this very moment.
        """
        unnamed_until = monotonic() + UNNAMED_SECONDS
        pause = LOOK_SECONDS
        while True:
            try:
                return await self._hold(handle, named_soon=monotonic() < unnamed_until)
            except _GenerationMoved:
                continue
            except _LockBusy:
                await asyncio.sleep(pause)
                pause = min(pause * 2, LOOK_SECONDS_AT_MOST)

    async def take_over(self, handle: str) -> HeldSession:
        """Raise generation and token in one transaction, then lock the new generation's file."""
        token = leases.new_token()

        def work(db: Session) -> tuple[int, _Taken]:
            session_id = sessions.by_handle(db, handle).id
            generation = leases.generation_of(db, session_id) + 1
            return generation, _take(db, session_id, generation, token)

        generation, taken = await self._gateway.write(work, "lease.take_over")
        lock = self._locks.take(taken.info.handle, generation)
        if lock is None:
            # Whoever came between named itself in the row before we could lock.
            raise _refusal(taken.info, await self._gateway.read(lambda db: db.get(LeaseRow, taken.info.id)))
        lock.sign(token)
        lease = Lease(taken.info.id, taken.info.handle, generation, token, lock)
        try:
            await self._gateway.read(lambda db: leases.require(db, lease))
        except BaseException:
            lock.release()
            raise
        return self._keep(lease, taken)

    async def release_all(self) -> None:
        """Let go of what is still held."""
        await asyncio.gather(*(held.release() for held in self._held))
        self._held.clear()

    def require_free(self, db: Session, info: SessionInfo) -> None:
        """Raise ``SessionHeld`` while another process lives that holds the session."""
        leases.require_free(db, info.id, info.handle, self._tokens())

    def require_not_elsewhere(self, db: Session, session_id: int) -> None:
        """Raise ``LeaseLost`` while another process holds the session, or did when it died."""
        leases.require_not_elsewhere(db, session_id, self._tokens())

    def _tokens(self) -> set[str]:
        return {held.token for held in self._held if not held.released}

    async def _create(self, handle: str, new: NewSession, opening: Opening) -> tuple[HeldSession, OpenTurn]:
        lock = self._locks.take(handle, FIRST_GENERATION)
        if lock is None:
            raise _HandleTaken
        token = leases.new_token()
        lock.sign(token)
        unsent = opening.unsent() if opening.unsent is not None else None

        def work(db: Session) -> tuple[OpenTurn, SessionInfo]:
            if db.scalar(select(SessionRow.id).where(SessionRow.handle == handle)) is not None:
                raise _HandleTaken
            session_id = sessions.insert_session(db, handle, new)
            leases.record_holder(db, session_id, FIRST_GENERATION, token)
            db.flush()
            if unsent is not None:
                drafts.save(db, new.workspace_root, session_id, unsent)
            turn = turns.begin(db, session_id, handle, opening)
            return turn, sessions.by_id(db, session_id)

        try:
            turn, info = await self._gateway.write(work, "session.create")
        except StoreError:
            lock.discard()
            raise
        except BaseException:
            lock.release()
            raise
        held = self._keep(Lease(info.id, handle, FIRST_GENERATION, token, lock), _Taken(info, None))
        return held, turn

    async def _hold(self, handle: str, *, named_soon: bool) -> HeldSession:
        def look(db: Session) -> tuple[SessionInfo, LeaseRow | None]:
            info = sessions.by_handle(db, handle)
            return info, db.get(LeaseRow, info.id)

        info, row = await self._gateway.read(look)
        generation = row.generation if row is not None else FIRST_GENERATION
        lock = self._locks.take(info.handle, generation)
        if lock is None:
            row = await self._gateway.read(lambda db: db.get(LeaseRow, info.id))
            if named_soon and not self._locks.named_by(row, info.handle):
                raise _LockBusy
            raise _refusal(info, row)
        if not self._locks.say_it_is_free(row):
            lock.release()
            raise _refusal(info, row)
        token = leases.new_token()
        lock.sign(token)

        def work(db: Session) -> _Taken:
            if leases.generation_of(db, info.id) != generation:
                raise _GenerationMoved
            return _take(db, info.id, generation, token)

        try:
            taken = await self._gateway.write(work, "lease.hold")
        except BaseException:
            lock.release()
            raise
        return self._keep(Lease(info.id, info.handle, generation, token, lock), taken)

    def _keep(self, lease: Lease, taken: _Taken) -> HeldSession:
        held = HeldSession(self._gateway, lease, taken.info, taken.interrupted)
        self._held = [each for each in self._held if not each.released]
        self._held.append(held)
        return held


def _refusal(info: SessionInfo, row: LeaseRow | None) -> StoreError:
    if row is None or row.token is None:
        return StoreError(f"Session {info.handle} is being opened by another process.", "Try again.")
    return SessionHeld(info.handle, leases.named_holder(row))


def _take(db: Session, session_id: int, generation: int, token: str) -> _Taken:
    leases.record_holder(db, session_id, generation, token)
    db.flush()
    interrupted = turns.recover(db, session_id)
    db.flush()
    return _Taken(sessions.by_id(db, session_id), interrupted)
