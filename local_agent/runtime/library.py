"""All stored sessions: list them, look into them, find what was said, name them, put them away."""

from __future__ import annotations

from local_agent.domain.entries import Slice
from local_agent.domain.searching import SearchPage
from local_agent.domain.sessions import ListPlace, SessionInfo
from local_agent.domain.titles import given_title
from local_agent.store.store import Store

FOUND = 50
"""Exchanges that a search gives at most."""


class Library:
    """The sessions of one folder, and of all. Raises ``StoreError`` for what can't be read or written."""

    def __init__(self, store: Store, workspace_root: str) -> None:
        self._store = store
        self.workspace_root = workspace_root
        """The folder whose sessions come first."""

    async def latest(self) -> SessionInfo | None:
        """The folder's newest session by last activity."""
        return await self._store.latest(self.workspace_root)

    async def page(
        self,
        text_filter: str = "",
        *,
        all_workspaces: bool = False,
        before: ListPlace | None = None,
        limit: int = 100,
    ) -> list[SessionInfo]:
        """One page of the list, the pinned ones first, then newest first; ``before`` is the place of the last
        row that is not pinned.
        """
        root = None if all_workspaces else self.workspace_root
        return await self._store.page(root, text_filter=text_filter, before=before, limit=limit)

    async def trashed(self, *, all_workspaces: bool = False) -> list[SessionInfo]:
        """What lies in the trash, newest first."""
        return await self._store.trashed(None if all_workspaces else self.workspace_root)

    async def preview(self, handle: str, count: int = 20) -> Slice:
        """The last entries of a session, without opening it."""
        return await self._store.tail((await self._store.find(handle)).id, count)

    async def search(self, words: str, *, all_workspaces: bool = False, limit: int = FOUND) -> SearchPage:
        """Exchanges that say the words, best first."""
        root = None if all_workspaces else self.workspace_root
        return await self._store.search(words, root, limit=limit)

    async def fork(self, handle: str, title: str = "", at: int | None = None) -> SessionInfo:
        """Another session from an entry of this one's tree, or from the end of its last settled turn,
        whoever holds it.
        """
        return await self._store.fork(handle, title, at)

    async def rename(self, handle: str, title: str) -> None:
        """Set a session's title for good."""
        await self._store.rename(handle, given_title(title))

    async def pin(self, handle: str, *, pinned: bool) -> None:
        """Have a session stand above the others, or no more."""
        await self._store.pin(handle, pinned=pinned)

    async def trash(self, handle: str) -> None:
        """Take a session out of every list; ``untrash`` brings it back."""
        await self._store.trash(handle)

    async def untrash(self, handle: str) -> None:
        """Bring a session back from the trash."""
        await self._store.untrash(handle)
