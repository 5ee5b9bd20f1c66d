"""Calls whose outcome nobody knows: finds them, looks into them, writes what was found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path

from local_agent.agent.recovery import Finding, as_uncertain, find, left_open
from local_agent.domain.audit import Audit
from local_agent.domain.ledger import Evidence, Execution, Pending
from local_agent.domain.sessions import SessionInfo
from local_agent.runtime.journal import ConversationJournal
from local_agent.runtime.probes import look
from local_agent.store.clock import utc_now
from local_agent.store.held import HeldSession
from local_agent.store.store import Store


class Recovering:
    """Reading needs no lease; settling takes that of the session that wrote the call, and gives it back."""

    def __init__(self, store: Store, journal: ConversationJournal, leave_out: Path) -> None:
        self._store = store
        self._journal = journal
        self._leave_out = leave_out

    async def of_session(self, info: SessionInfo) -> tuple[Pending, ...]:
        """The uncertain ones that a session wrote, oldest first, on whatever branch.

        What a dead process left open is among them; that is written once the session is taken up.
        """
        found = await self._store.executions(info.id)
        return tuple(
            Pending(as_uncertain(each), info.handle, info.workspace_root)
            for each in found
            if each.uncertain or (info.holder is None and left_open(each))
        )

    async def execution(self, execution_id: str) -> Execution | None:
        """One call of any session; None when there is none of this id."""
        return await self._store.execution(execution_id)

    async def settled_by(self, info: SessionInfo, evidence: Evidence) -> tuple[Pending, ...]:
        """What this very evidence has settled in a session."""
        found = await self._store.executions(info.id)
        mine = (each for each in found if each.evidence == evidence)
        return tuple(Pending(each, info.handle, info.workspace_root) for each in mine)

    async def look_into(self, pending: Sequence[Pending]) -> list[Finding]:
        """What there is to see of each, in their order; files and processes are looked at off the loop."""
        findings: dict[str, Finding] = {}
        for root, group in groupby(pending, key=lambda each: each.workspace_root):
            some = list(group)
            seen = await asyncio.to_thread(look, [each.execution for each in some], root, self._leave_out)
            now = utc_now()
            findings |= {
                each.execution.id: find(each, what, now) for each, what in zip(some, seen, strict=True)
            }
        return [findings[each.execution.id] for each in pending]

    async def settle(
        self, handle: str, ids: Sequence[str], evidence: Evidence, expected: str | None = None
    ) -> int:
        """Write evidence for executions of one session; how many of them were uncertain until now.

        Raises ``SessionHeld`` while another process holds that session; see ``HeldSession`` for the rest.
        """
        async with self._held(handle) as held:
            return await held.settle_uncertain(ids, evidence, expected)

    async def repair(self, handle: str) -> int:
        """Write lost results of a session again; how many. Raises as ``settle`` does."""
        async with self._held(handle) as held:
            return await held.repair()

    async def without_result(self, info: SessionInfo) -> list[Execution]:
        """Ended calls of a session whose result is in no entry."""
        return await self._store.missing_results(info.id)

    async def audit(self, handle: str, most: int) -> Audit:
        """Everything that is stored of a session at this moment, the newest ``most`` entries and events."""
        return await self._store.audit(handle, most)

    @asynccontextmanager
    async def _held(self, handle: str) -> AsyncIterator[HeldSession]:
        """The session of the conversation where it is that, else its lease for a moment."""
        mine = self._journal.held
        if mine is not None and mine.info.handle == handle:
            yield mine
            return
        held = await self._store.hold(handle)
        try:
            yield held
        finally:
            await held.release()
