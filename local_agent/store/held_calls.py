"""What a holder of a session writes of calls: each step is one transaction that checks the lease."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from sqlalchemy.orm import Session

from local_agent.domain.crashpoints import CommitName
from local_agent.domain.entries import Entry
from local_agent.domain.ledger import EventKind, Evidence, Execution, Receipt
from local_agent.domain.ports import OpenTurn, Reply
from local_agent.domain.sessions import SessionInfo
from local_agent.domain.tools import Effect, FileChange
from local_agent.store import executions, ledger, sessions, settling, turns
from local_agent.store.gateway import Gateway

T = TypeVar("T")


class HeldCalls:
    """The part of a held session that writes the ledger.

    ``at`` is the time of what is written later than it happened, UTC, ISO 8601; empty for now.
    """

    _gateway: Gateway
    info: SessionInfo

    async def record(
        self,
        turn: OpenTurn,
        reply: Reply,
        effects: Sequence[Effect],
        *,
        ids: Sequence[str] = (),
        at: str = "",
    ) -> tuple[Entry, tuple[Execution, ...]]:
        """A whole reply that asks for tools, the head on it, and its calls; ``ids`` they have already."""
        entry, found = await self._write(
            lambda db: turns.record(db, turn, reply, effects, ids, at), "tool.record"
        )
        self._moved_to(entry)
        return entry, found

    async def note(
        self, execution: Execution, kind: EventKind, detail: Mapping[str, object], *, at: str = ""
    ) -> Execution:
        """Add an event that neither starts nor ends a call."""
        return await self._write(
            lambda db: ledger.note(db, self.info.id, execution, kind, detail, at), "tool.note"
        )

    async def start(self, execution: Execution, facts: Mapping[str, object], *, at: str = "") -> Execution:
        """Commit that it starts now."""
        started = EventKind.STARTED
        return await self._write(
            lambda db: ledger.note(db, self.info.id, execution, started, facts, at), "tool.start"
        )

    async def finish(
        self,
        execution: Execution,
        kind: EventKind,
        receipt: Receipt,
        text: str,
        changes: Sequence[FileChange],
        *,
        at: str = "",
    ) -> tuple[Execution, Entry]:
        """The terminal event, what was changed, and the result as a leaf.

        Of ``OUTCOME_UNKNOWN`` there is no result before it is settled: its entry has the id 0.
        """
        found, entry = await self._write(
            lambda db: ledger.finish(db, self.info.id, execution, kind, receipt, text, changes, at),
            "tool.finish",
        )
        if entry.id:
            self.info = replace(self.info, last_entry=entry.id, last_activity=entry.created_at)
        return found, entry

    async def requested(self, turn: OpenTurn) -> tuple[Execution, ...]:
        """The executions of the turn's own ``!command``."""
        entry_id = turn.question.id
        return tuple(await self._gateway.read(lambda db: executions.of_entry(db, entry_id)))

    async def settle_uncertain(
        self, ids: Sequence[str], evidence: Evidence, expected: str | None = None
    ) -> int:
        """Settle uncertain executions of this session and tell the model; how many were uncertain until now.

        ``expected``: the ``set_digest`` of the first 100 pending ones as they were looked at. Raises
        ``StoreError`` and writes nothing when that set has changed, when more than 100 are named, when one
        of them is not uncertain, or was settled by other evidence; by the same is fine.
        """

        def work(db: Session) -> tuple[int, SessionInfo]:
            count = settling.settle(db, self.info.id, ids, evidence, expected)
            return count, sessions.by_id(db, self.info.id)

        count, self.info = await self._write(work, "ledger.settle")
        return count

    async def repair(self) -> int:
        """Write lost results again from their receipts; how many. Raises ``StoreError`` while some calls
        are uncertain.
        """
        return await self._write(lambda db: settling.repair(db, self.info.id), "ledger.repair")

    @abstractmethod
    async def _write(self, work: Callable[[Session], T], name: CommitName) -> T:
        """Run ``work`` in a transaction that checks the lease."""

    @abstractmethod
    def _moved_to(self, entry: Entry) -> None:
        """The head is on ``entry`` now."""
