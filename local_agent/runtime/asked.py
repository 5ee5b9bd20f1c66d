"""What was asked before: for Up in the composer, and for the search through it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from local_agent.domain.asked import AskedPage, AskedQuestion
from local_agent.store.store import Store

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation

PAGE = 500


class AskedBefore:
    """The questions that the store keeps; they go when their session goes."""

    def __init__(self, store: Store, workspace_root: str) -> None:
        self._store = store
        self._root = workspace_root

    async def recalled(self, conversation: Conversation | None, limit: int) -> list[str]:
        """Each once, newest first: this session's questions, then the workspace's."""
        return await self._store.questions(self._root, _session_id(conversation), limit)

    async def own(self, conversation: Conversation | None) -> tuple[AskedQuestion, ...]:
        """The newest of this session."""
        session_id = _session_id(conversation)
        return await self._store.asked_in(session_id, PAGE) if session_id is not None else ()

    async def page(self, *, everywhere: bool, before: int | None = None) -> AskedPage:
        """The newest of this folder or of all; ``before``: what a page says of its rest."""
        return await self._store.asked(None if everywhere else self._root, before, PAGE)

    async def whole(self, question: AskedQuestion) -> str:
        """All of its text. Raises ``StoreError``."""
        return question.text if question.whole else await self._store.asked_whole(question.entry_id)


def _session_id(conversation: Conversation | None) -> int | None:
    return conversation.info.id if conversation is not None and conversation.info is not None else None
