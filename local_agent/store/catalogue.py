"""The list of sessions: find one, page through them, name them, put them in the trash."""

from __future__ import annotations

from sqlalchemy.orm import Session

from local_agent.domain.bundles import Rows, SettledRows
from local_agent.domain.entries import ErrorRecord
from local_agent.domain.sessions import ListPlace, RecordedFolder, SessionInfo, Workspace
from local_agent.store import bundle, bundle_import, error_trail, forks, moved, sessions
from local_agent.store.gateway import Gateway
from local_agent.store.holding import Holding


class Catalogue:
    """The part of the store that knows sessions by handle, folder and title."""

    _gateway: Gateway
    _holding: Holding

    async def workspace(self, root: str, git_root_commit: str | None = None) -> Workspace | None:
        """The recorded workspace of a folder; None before its first session or draft."""
        return await self._gateway.read(lambda db: sessions.workspace(db, root))

    async def same_project(self, root: str, git_root_commit: str) -> list[RecordedFolder]:
        """Other folders of the same repository with sessions; none where ``root`` is recorded already."""
        return await self._gateway.read(lambda db: moved.same_project(db, root, git_root_commit))

    async def relink(self, old_root: str, new_root: str, git_root_commit: str) -> None:
        """Let one folder's sessions and drafts be another's. Raises ``SessionHeld``, and changes nothing."""

        def work(db: Session) -> None:
            for session_id in moved.sessions_of(db, old_root):
                self._holding.require_free(db, sessions.by_id(db, session_id))
            moved.relink(db, old_root, new_root, git_root_commit)

        await self._gateway.write(work, "session.change")

    async def record_folder(self, root: str, git_root_commit: str) -> None:
        """Know a folder before its first session."""
        await self._gateway.write(lambda db: moved.record(db, root, git_root_commit), "session.change")

    async def find(self, handle: str) -> SessionInfo:
        """``UsageError`` for what is no handle, ``UnknownSession`` (with the closest) for an unknown one."""
        return await self._gateway.read(lambda db: sessions.by_handle(db, handle))

    async def latest(self, workspace_root: str) -> SessionInfo | None:
        """What ``--resume latest`` means in this folder."""
        return await self._gateway.read(lambda db: sessions.latest(db, workspace_root))

    async def page(
        self,
        workspace_root: str | None,
        *,
        text_filter: str = "",
        limit: int = 100,
        before: ListPlace | None = None,
    ) -> list[SessionInfo]:
        """The pinned ones, then newest first; ``before`` is the place of the page before's last row.

        ``workspace_root`` None is every folder.
        """
        return await self._gateway.read(
            lambda db: sessions.page(db, workspace_root, text_filter, limit, before)
        )

    async def trashed(self, workspace_root: str | None) -> list[SessionInfo]:
        """What lies in the trash, newest first."""
        return await self._gateway.read(lambda db: sessions.trashed(db, workspace_root))

    async def fork(self, handle: str, title: str = "", at: int | None = None) -> SessionInfo:
        """Another session that starts at an entry of this one's tree, or at the end of its last settled turn;
        needs no lease.
        """
        return await self._gateway.write(lambda db: forks.fork(db, handle, title, at), "session.fork")

    async def settled_rows(self, handle: str) -> SettledRows:
        """What a bundle of a session holds of it, at one moment, whoever has the session."""
        return await self._gateway.read(lambda db: bundle.read(db, handle))

    async def take_in(self, rows: Rows, root: str, git_root_commit: str | None) -> SessionInfo:
        """Write the rows of a bundle, which were found sound, as a new session of a folder."""
        return await self._gateway.write(
            lambda db: bundle_import.write(db, rows, root, git_root_commit), "session.import"
        )

    async def rename(self, handle: str, title: str) -> None:
        """Set a title for good; as with the trash, ``SessionHeld`` while another process writes there."""
        await self._change(handle, title=title, title_source="person")

    async def pin(self, handle: str, *, pinned: bool) -> None:
        """Have a session stand above the others in lists, or no more."""
        await self._change(handle, pinned=pinned)

    async def trash(self, handle: str) -> None:
        """Take a session out of all lists; nothing is deleted."""
        await self._change(handle, trashed=True)

    async def untrash(self, handle: str) -> None:
        """Bring a session back to all lists."""
        await self._change(handle, trashed=False)

    async def note_error(self, session_id: int, record: ErrorRecord) -> None:
        """Add to a session's trail of errors what belongs to no turn; needs no lease."""
        await self._gateway.write(lambda db: error_trail.add(db, session_id, None, record), "session.change")

    async def _change(self, handle: str, **values: object) -> None:
        def work(db: Session) -> None:
            info = sessions.by_handle(db, handle)
            self._holding.require_free(db, info)
            sessions.change(db, info.id, **values)

        await self._gateway.write(work, "session.change")
