"""The store as the rest of the program sees it: values in, values out."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from sqlalchemy.orm import Session

from local_agent.config.private_files import private_folder
from local_agent.domain.entries import Entry, ErrorRecord, Slice
from local_agent.domain.errors import StoreError
from local_agent.domain.ports import Opening, OpenTurn, Reply
from local_agent.domain.sessions import Draft, NewSession, SessionInfo, Workspace
from local_agent.store import drafts, error_trail, history, sessions, turns
from local_agent.store.engine import open_engine
from local_agent.store.examine import examine
from local_agent.store.gateway import Gateway
from local_agent.store.held import HeldSession
from local_agent.store.holding import Holding
from local_agent.store.leases import KernelLocks
from local_agent.store.migrate import migrate

T = TypeVar("T")


class Store:
    """All sessions of one user. Reads see committed rows; every write is one transaction."""

    def __init__(self, gateway: Gateway, path: Path | None) -> None:
        self._gateway = gateway
        self._path = path
        locks = KernelLocks(path.parent / "locks" if path is not None else None)
        self._holding = Holding(gateway, locks)

    @classmethod
    def open(cls, path: Path, *, program_version: str) -> Store:
        """Open the file, building or migrating it first. Blocking; raises ``StoreError``."""
        examine(path)
        try:
            private_folder(path.parent)
            engine = open_engine(path)
        except OSError as error:
            raise StoreError(
                f"{path} can't be written: {error.strerror}.",
                "Set LOCAL_AGENT_HOME to a folder that can be written, or start with --no-save.",
                str(error),
            ) from error
        schema = migrate(engine, path, path.parent / "backups", program_version)
        return cls(Gateway(engine, schema), path)

    @classmethod
    def in_memory(cls, *, program_version: str) -> Store:
        """The same tables with nothing on disk; gone when the process ends."""
        engine = open_engine(None)
        schema = migrate(engine, None, Path("backups"), program_version)
        return cls(Gateway(engine, schema, in_memory=True), None)

    @property
    def durable(self) -> bool:
        """False when nothing is kept on disk."""
        return self._path is not None

    @property
    def on_wait(self) -> Callable[[bool], None] | None:
        """Called on the event loop: True when a unit of work has waited a second for a lock, then False."""
        return self._gateway.on_wait

    @on_wait.setter
    def on_wait(self, callback: Callable[[bool], None] | None) -> None:
        self._gateway.on_wait = callback

    async def close(self) -> None:
        """Let all sessions go, then close; takes at most a second or two, whatever the disk does."""
        await self._holding.release_all()
        await self._gateway.close()

    async def create(self, new: NewSession, opening: Opening) -> tuple[HeldSession, OpenTurn]:
        """Session, lease and first question in one transaction."""
        return await self._holding.create(new, opening)

    async def hold(self, handle: str) -> HeldSession:
        """Take the lease; ``SessionHeld`` while another process lives that has it."""
        return await self._holding.hold(handle)

    async def take_over(self, handle: str) -> HeldSession:
        """Take the lease from whoever has it."""
        return await self._holding.take_over(handle)

    async def workspace(self, root: str, git_root_commit: str | None = None) -> Workspace | None:
        """The recorded workspace of a folder; None before its first session or draft."""
        return await self._read(lambda db: sessions.workspace(db, root))

    async def find(self, handle: str) -> SessionInfo:
        """``UsageError`` for what is no handle, ``UnknownSession`` (with the closest) for an unknown one."""
        return await self._read(lambda db: sessions.by_handle(db, handle))

    async def latest(self, workspace_root: str) -> SessionInfo | None:
        """What ``--resume latest`` means in this folder."""
        return await self._read(lambda db: sessions.latest(db, workspace_root))

    async def page(
        self,
        workspace_root: str | None,
        *,
        text_filter: str = "",
        limit: int = 100,
        before: int | None = None,
    ) -> list[SessionInfo]:
        """Newest first; ``before`` is the ``last_entry`` that the page before ended on, root None is all."""
        return await self._read(lambda db: sessions.page(db, workspace_root, text_filter, limit, before))

    async def trashed(self, workspace_root: str | None) -> list[SessionInfo]:
        """What lies in the trash, newest first."""
        return await self._read(lambda db: sessions.trashed(db, workspace_root))

    async def rename(self, handle: str, title: str) -> None:
        """Set a session's title for good."""
        await self._change(handle, title=title, title_source="person")

    async def trash(self, handle: str) -> None:
        """Take a session out of all lists; nothing is deleted."""
        await self._change(handle, trashed=True)

    async def untrash(self, handle: str) -> None:
        """Bring a session back to all lists."""
        await self._change(handle, trashed=False)

    async def tail(self, session: str | int, count: int) -> Slice:
        """The last ``count`` entries of the path and their results; costs the same however long it is."""

        def work(db: Session) -> Slice:
            key = session if isinstance(session, int) else sessions.by_handle(db, session).id
            return history.tail(db, key, count)

        return await self._read(work)

    async def before(self, session_id: int, entry_id: int, count: int) -> Slice:
        """The ``count`` entries that lead to ``entry_id``."""
        return await self._read(lambda db: history.before(db, session_id, entry_id, count))

    async def model_path(self, leaf: int) -> list[Entry]:
        """What requests are built from: the path down to what its newest summary keeps, oldest first."""
        return await self._read(lambda db: history.model_path(db, leaf))

    async def open_reply(self, session_id: int) -> Reply | None:
        """The reply that is streaming in another process."""
        return await self._read(lambda db: turns.open_reply(db, session_id))

    async def questions(self, workspace_root: str, session_id: int | None, limit: int) -> list[str]:
        """What was asked, each once: this session's newest first, then the folder's other sessions'."""
        return await self._read(lambda db: history.questions(db, workspace_root, session_id, limit))

    async def errors(self, session_id: int) -> list[ErrorRecord]:
        """The trail of failed turns, oldest first."""
        return await self._read(lambda db: error_trail.of_session(db, session_id))

    async def save_draft(self, workspace_root: str, session_id: int | None, draft: Draft) -> None:
        """Replace the unsent work of a session, or of this process while there is none; empty removes it."""
        await self._gateway.write(lambda db: drafts.save(db, workspace_root, session_id, draft), "draft.save")

    async def take_draft(self, workspace_root: str, session_id: int | None) -> Draft | None:
        """The session's draft; without a session, that of a process that is dead by now."""
        return await self._gateway.write(lambda db: drafts.take(db, workspace_root, session_id), "draft.take")

    async def facts(self) -> dict[str, object]:
        """For the doctor and the runtime view; sizes are bytes."""

        def work(db: Session) -> dict[str, object]:
            connection = db.connection()
            applied = connection.exec_driver_sql("SELECT max(revision) FROM schema_migrations").scalar()
            journal = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
            return {"revision": applied, "journal": journal}

        return {
            "path": str(self._path) if self._path is not None else None,
            "size": self._path.stat().st_size if self._path is not None else None,
            **await self._read(work),
            "last_backup": self._last_backup(),
            "sqlite": sqlite3.sqlite_version,
        }

    def _last_backup(self) -> str | None:
        if self._path is None:
            return None
        backups = sorted((self._path.parent / "backups").glob("*.db"))
        return backups[-1].name if backups else None

    async def _change(self, handle: str, **values: object) -> None:
        def work(db: Session) -> None:
            sessions.change(db, sessions.by_handle(db, handle).id, **values)

        await self._gateway.write(work, "session.change")

    async def _read(self, work: Callable[[Session], T]) -> T:
        return await self._gateway.read(work)
