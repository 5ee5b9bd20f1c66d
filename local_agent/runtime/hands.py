"""What one conversation may do: its tools, the rules they run under, and what has to be settled first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from local_agent.domain.approvals import Authority
from local_agent.domain.ledger import Pending
from local_agent.domain.modes import Mode
from local_agent.domain.tools import Toolbox

if TYPE_CHECKING:
    from local_agent.runtime.journal import ConversationJournal
    from local_agent.store.store import Store


class Hands:
    """The tools of one conversation and their authority."""

    def __init__(self, store: Store, journal: ConversationJournal) -> None:
        self.toolbox: Toolbox | None = None
        self.authority: Authority | None = None
        self.confines = False
        """Whether commands that run project code can be confined to the workspace here."""
        self._store = store
        self._journal = journal

    async def pending(self, leaf: int | None) -> Sequence[Pending]:
        """Calls whose outcome nobody knows, of this session or on the path to ``leaf``."""
        return ()

    async def require_settled(self, leaf: int | None, mode: Mode = Mode.NORMAL) -> None:
        """Raises ``LocalAgentError`` while a turn in ``mode`` is blocked by what is pending."""

    async def close(self) -> None:
        """End what runs in the background."""
