"""What calls did, and what nobody knows of them: the part of the store that reads the ledger."""

from __future__ import annotations

from local_agent.domain.audit import Audit
from local_agent.domain.ledger import Execution, Pending
from local_agent.store import audit, executions, sessions
from local_agent.store.gateway import Gateway


class Calls:
    """Reads the ledger; needs no lease. What can't be read comes back as such and raises nothing."""

    _gateway: Gateway

    async def executions(self, session_id: int) -> list[Execution]:
        """The calls that a session wrote, oldest first, on whatever branch."""
        return await self._gateway.read(lambda db: executions.of_session(db, session_id))

    async def execution(self, execution_id: str) -> Execution | None:
        """One call; None when there is none of this id."""
        found = await self._gateway.read(lambda db: executions.by_ids(db, [execution_id]))
        return found[0] if found else None

    async def pending(self, session_id: int | None, leaf: int | None) -> tuple[Pending, ...]:
        """The uncertain calls that a session wrote, undone or not, and those on the path to ``leaf``."""
        return tuple(await self._gateway.read(lambda db: executions.pending(db, session_id, leaf)))

    async def pending_of(self, handle: str) -> tuple[Pending, ...]:
        """The uncertain calls that a session wrote, oldest first; raises ``UnknownSession``."""
        return tuple(
            await self._gateway.read(lambda db: executions.pending_of(db, sessions.by_handle(db, handle).id))
        )

    async def missing_results(self, session_id: int) -> list[Execution]:
        """Ended calls whose result is in no entry: ``HeldSession.repair`` writes them again."""
        return await self._gateway.read(lambda db: executions.without_result(db, session_id))

    async def audit(self, handle: str, most: int) -> Audit:
        """All that is stored of a session at one moment: the newest ``most`` entries and events."""
        return await self._gateway.read(lambda db: audit.of_session(db, handle, most))
