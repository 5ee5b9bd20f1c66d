"""What the model of one conversation may search: the folder's past without what it has before it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.searching import Exchange, SearchPage
from local_agent.store.store import Store

if TYPE_CHECKING:
    from local_agent.runtime.journal import ConversationJournal


class Past:
    """Implements ``tools.search_memory.Memory``."""

    def __init__(self, store: Store, journal: ConversationJournal, workspace_root: str) -> None:
        self._store = store
        self._journal = journal
        self._root = workspace_root

    async def search(self, words: str, limit: int) -> SearchPage:
        """Exchanges that say the words; neither entries nor copies of texts that the model has in context."""
        info = self._journal.info
        head = await self._store.head(info.id) if info is not None else None
        path = await self._store.model_path(head) if head is not None else []
        texts = {entry.text.strip() for entry in path}
        # One more for each that may be a copy, in a bounded number.
        page = await self._store.search(
            words, self._root, limit=3 * limit, leave_out={entry.id for entry in path}
        )
        new = [each for each in page.passages if not {each.question.strip(), each.answer.strip()} <= texts]
        return replace(page, passages=tuple(new[:limit]))

    async def exchange(self, entry_id: int) -> Exchange | None:
        """All of an exchange of this folder."""
        return await self._store.exchange(entry_id, self._root)
