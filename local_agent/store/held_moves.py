"""What a holder writes of its way through time: each step is one transaction that checks the lease."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import TypeVar

from sqlalchemy.orm import Session

from local_agent.domain.checkpoints import Checkpoint
from local_agent.domain.crashpoints import CommitName
from local_agent.domain.entries import Entry, Origin
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.moves import Landing, Scope, Travelled
from local_agent.domain.restoring import RestoreIntent
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.tools import FileChange
from local_agent.store import checkpoints, compaction, landings, restores, sessions

T = TypeVar("T")


class HeldMoves:
    """The part of a held session that makes checkpoints and moves the head."""

    info: SessionInfo

    async def make_checkpoint(self, label: str) -> Checkpoint:
        """Name where the session stands now: one row."""
        return await self._write(lambda db: checkpoints.make(db, self.info.id, label), "checkpoint.make")

    async def travel(self, landing: Landing, scope: Scope, intent: RestoreIntent | None) -> Travelled:
        """Go to a landing with what ``scope`` says; with ``intent`` the restore of files that it describes is
        begun by it.

        Raises ``StoreError`` and changes nothing when the head was moved since the landing was looked up,
        while a turn runs, and while another restore of files is not ended.
        """
        return await self._change_head(
            lambda db: landings.travel(db, self.info.id, landing, scope, intent), "head.travel"
        )

    async def end_restore(
        self, execution: Execution, kind: EventKind, receipt: Receipt, changes: Sequence[FileChange]
    ) -> Execution:
        """Write how a restore of files ended, and what it did."""
        return await self._write(
            lambda db: restores.end(db, self.info.id, execution, kind, receipt, changes), "restore.end"
        )

    async def take_back_restore(
        self, execution: Execution, receipt: Receipt, changes: Sequence[FileChange]
    ) -> Execution:
        """Write that a restore of files was taken back; so is its move of the head while that is the newest.

        ``changes`` are what it has left behind, in all.
        """

        def work(db: Session) -> Execution:
            ended = restores.end(db, self.info.id, execution, EventKind.CANCELLED, receipt, changes)
            number = ended.facts.get(restores.MOVE)
            if isinstance(number, int):
                landings.take_back(db, self.info.id, number)
            return ended

        return await self._change_head(work, "restore.take_back")

    async def compact(
        self,
        parent: int,
        text: str,
        kept_from: int | None,
        *,
        context: str = "",
        origin: Origin = Origin.MODEL,
    ) -> tuple[Entry, Checkpoint]:
        """A checkpoint, then a summary behind ``parent`` with the head on it; the entries from ``kept_from``
        on stay in requests.
        """
        return await self._change_head(
            lambda db: compaction.compact(db, self.info.id, parent, text, kept_from, context, origin),
            "compaction.commit",
        )

    async def _change_head(self, work: Callable[[Session], T], name: CommitName) -> T:
        def unit(db: Session) -> tuple[T, SessionInfo]:
            result = work(db)
            db.flush()
            return result, sessions.by_id(db, self.info.id)

        result, self.info = await self._write(unit, name)
        return result

    @abstractmethod
    async def _write(self, work: Callable[[Session], T], name: CommitName) -> T:
        """Run ``work`` in a transaction that checks the lease."""
