"""What was said: slices of a path for the screen, the part that requests carry, questions to recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from sqlalchemy import select
from sqlalchemy.orm import Session

from local_agent.domain.asked import AskedPage, AskedQuestion
from local_agent.domain.entries import Entry, ErrorRecord, Slice
from local_agent.domain.finding import FoundPart, Sought
from local_agent.domain.mirror import Mirrored
from local_agent.domain.models import Speed
from local_agent.domain.ports import Reply
from local_agent.domain.searching import Exchange, SearchPage
from local_agent.store import (
    asked,
    attachments,
    drafts,
    entries,
    error_trail,
    find,
    history,
    leases,
    search,
    sessions,
    speeds,
    turns,
)
from local_agent.store.gateway import Gateway
from local_agent.store.models import LeaseRow, SessionRow


class Transcripts:
    """The part of the store that reads conversations."""

    _gateway: Gateway

    async def tail(self, session: str | int, count: int, leaf: int | None = None) -> Slice:
        """The last ``count`` entries of the path to ``leaf`` or the session's head, and their results.

        Costs the same however long the path is.
        """

        def work(db: Session) -> Slice:
            key = session if isinstance(session, int) else sessions.by_handle(db, session).id
            return history.tail(db, key, count, leaf)

        return await self._gateway.read(work)

    async def before(self, session_id: int, entry_id: int, count: int) -> Slice:
        """The ``count`` entries that lead to ``entry_id``."""
        return await self._gateway.read(lambda db: history.before(db, session_id, entry_id, count))

    async def head(self, session_id: int) -> int | None:
        """The last entry of a session's path, whoever wrote it."""
        query = select(SessionRow.head).where(SessionRow.id == session_id)
        return await self._gateway.read(lambda db: db.scalar(query))

    async def path_ids(self, leaf: int) -> list[int]:
        """The ids of the whole path to ``leaf``, oldest first."""
        return await self._gateway.read(lambda db: [node.id for node in reversed(entries.walk(db, leaf))])

    async def look_through(self, leaf: int, sought: Sought) -> FoundPart:
        """What stands in the end of the path to ``leaf``, and from where on the search has to go on."""
        return await self._gateway.read(lambda db: find.find(db, leaf, sought))

    async def search(
        self, words: str, root: str | None, *, limit: int = 20, leave_out: Collection[int] = ()
    ) -> SearchPage:
        """Exchanges that say the words, of a folder's sessions or of all; see ``store.search``."""
        return await self._gateway.read(lambda db: search.search(db, words, root, limit, leave_out))

    async def exchange(self, entry_id: int, root: str) -> Exchange | None:
        """The exchange of an entry that a search in a folder could find."""
        return await self._gateway.read(lambda db: search.exchange(db, entry_id, root))

    async def model_path(self, leaf: int) -> list[Entry]:
        """What requests are built from: the path down to what its newest summary keeps, oldest first."""
        return await self._gateway.read(lambda db: history.model_path(db, leaf))

    async def picture_digests(self) -> set[str]:
        """What any entry of any branch, any draft or any queued prompt refers to, at one moment."""
        return await self._gateway.read(lambda db: attachments.digests(db) | drafts.digests(db))

    async def open_reply(self, session_id: int) -> Reply | None:
        """The reply that is streaming in another process."""
        return await self._gateway.read(lambda db: turns.open_reply(db, session_id))

    async def mirrored(self, session_id: int, count: int = 40) -> Mirrored:
        """What stands there at this moment, what is being written, and by whom."""

        def work(db: Session) -> Mirrored:
            holder = leases.holder_of(db.get(LeaseRow, session_id))
            return Mirrored(
                history.tail(db, session_id, count), turns.open_reply(db, session_id) or Reply(), holder
            )

        return await self._gateway.read(work)

    async def questions(self, workspace_root: str, session_id: int | None, limit: int) -> list[str]:
        """What was asked, each once: this session's newest first, then the folder's other sessions'."""
        return await self._gateway.read(lambda db: history.questions(db, workspace_root, session_id, limit))

    async def asked(self, workspace_root: str | None, before: int | None, limit: int) -> AskedPage:
        """A page of questions of a folder, or of all, newest first."""
        return await self._gateway.read(lambda db: asked.page(db, workspace_root, before, limit))

    async def asked_in(self, session_id: int, limit: int) -> tuple[AskedQuestion, ...]:
        """The last questions of a session."""
        return await self._gateway.read(lambda db: asked.own(db, session_id, limit))

    async def asked_whole(self, entry_id: int) -> str:
        """All of a question."""
        return await self._gateway.read(lambda db: asked.whole(db, entry_id))

    async def errors(self, session_id: int) -> list[ErrorRecord]:
        """The trail of failed turns, oldest first."""
        return await self._gateway.read(lambda db: error_trail.of_session(db, session_id))

    async def speeds(self) -> Mapping[str, Speed]:
        """How fast each model was in its last turns, by its full name."""
        return await self._gateway.read(speeds.speeds)
