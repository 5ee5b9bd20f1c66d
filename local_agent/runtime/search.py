"""Looks through all of a conversation, what is not on disk yet included."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable

from local_agent.domain.entries import Entry
from local_agent.domain.finding import FoundPart, Sought, found_in_entries
from local_agent.runtime.journal import ConversationJournal
from local_agent.store.store import Store

Place = Callable[[], tuple[int | None, int | None]]
"""The ids of the session and of the last entry of its path here; None where there is none yet."""


class Search:
    """The search of one conversation."""

    def __init__(self, store: Store, journal: ConversationJournal, place: Place) -> None:
        self._store = store
        self._journal = journal
        self._place = place

    @property
    def newest(self) -> int | None:
        """The last entry of the path as this process knows it; another one when there is more to find."""
        return self._place()[1]

    async def find(self, sought: Sought) -> AsyncGenerator[FoundPart, None]:
        """What was found, newest first, part by part; closing it stops the search. Raises ``StoreError``."""
        waiting, leaf = await self._ends()
        yield FoundPart(found_in_entries(sought, waiting), leaf)
        while leaf is not None:
            part = await self._store.look_through(leaf, sought)
            yield part
            leaf = part.rest

    async def path(self) -> list[int]:
        """The ids of all entries of the path, oldest first. Raises ``StoreError``."""
        waiting, leaf = await self._ends()
        stored = await self._store.path_ids(leaf) if leaf is not None else []
        return [*stored, *(entry.id for entry in waiting)]

    def known_as(self, entry_id: int) -> int:
        """The id of an entry by now: one that was found before it was on disk has got another."""
        return self._journal.unsaved.ids.get(entry_id, entry_id)

    async def _ends(self) -> tuple[list[Entry], int | None]:
        """The end of the path that only this process has, and the stored entry before it."""
        session_id, leaf = self._place()
        waiting, stored = self._journal.unsaved.path(leaf)
        if not waiting and session_id is not None:
            # Another process may have gone on with what is only read here.
            stored = await self._store.head(session_id)
        return waiting, stored
