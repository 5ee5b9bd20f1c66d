"""Where a session can go, and where it has been: the part of the store that reads moves and checkpoints."""

from __future__ import annotations

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import Checkpoint
from local_agent.domain.ledger import Execution
from local_agent.domain.moves import Cause, Landing
from local_agent.domain.tools import FileChange
from local_agent.store import branches, checkpoints, landings, restores
from local_agent.store.gateway import Gateway


class TimeReads:
    """Needs no lease. Landings raise ``UsageError``, with the way out, where there is nowhere to go."""

    _gateway: Gateway

    async def undo_landing(self, session_id: int) -> Landing:
        """Back by the newest step that is not undone."""
        return await self._gateway.read(lambda db: landings.undo(db, session_id))

    async def redo_landing(self, session_id: int) -> Landing:
        """Forth by the step that was undone last."""
        return await self._gateway.read(lambda db: landings.redo(db, session_id))

    async def checkpoint_landing(self, session_id: int, checkpoint_id: int) -> Landing:
        """To a checkpoint of the session."""
        return await self._gateway.read(lambda db: landings.checkpoint(db, session_id, checkpoint_id))

    async def entry_landing(self, session_id: int, entry_id: int, cause: Cause) -> Landing:
        """To an entry that the session wrote, or that is on the path which it inherited as a fork."""
        return await self._gateway.read(lambda db: landings.entry(db, session_id, entry_id, cause))

    async def changes_since(self, session_id: int, ledger_number: int) -> list[FileChange]:
        """What a session did to files since the ledger had come so far, oldest first."""
        return await self._gateway.read(lambda db: restores.changes_since(db, session_id, ledger_number))

    async def checkpoint(self, session_id: int, checkpoint_id: int) -> Checkpoint:
        """One checkpoint of the session; raises ``UsageError`` where it has none of this number."""
        return await self._gateway.read(lambda db: checkpoints.by_id(db, session_id, checkpoint_id))

    async def checkpoints(self, session_id: int, before: int | None, limit: int) -> list[Checkpoint]:
        """A page, newest first; ``before`` is the id that the page before ended with."""
        return await self._gateway.read(lambda db: checkpoints.page(db, session_id, before, limit))

    async def tree(self, session_id: int) -> list[TreeNode]:
        """All branches, and what was inherited, oldest first."""
        return await self._gateway.read(lambda db: branches.tree(db, session_id))

    async def unfinished_restore(self, session_id: int) -> Execution | None:
        """A restore of files that has started and not ended; what it intends is in its ``facts``."""
        return await self._gateway.read(lambda db: restores.unfinished(db, session_id))
