"""The store as the rest of the program sees it: values in, values out."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sqlalchemy.orm import Session

from local_agent.config.private_files import close_to_others, private_folder
from local_agent.domain.drafts import Draft
from local_agent.domain.errors import Damaged, LeaseLost, NotSaved
from local_agent.domain.ports import Opening, OpenTurn
from local_agent.domain.purging import Footprint, Purged
from local_agent.domain.sessions import NewSession
from local_agent.store import drafts, purge, sessions
from local_agent.store.calls import Calls
from local_agent.store.catalogue import Catalogue
from local_agent.store.copies import newest_copy
from local_agent.store.engine import driver_of, open_engine, share
from local_agent.store.examine import LOCKED, Content, examine, not_writable, require_writable
from local_agent.store.gateway import Gateway
from local_agent.store.held import HeldSession
from local_agent.store.holding import Holding
from local_agent.store.leases import KernelLocks
from local_agent.store.migrate import migrate, update_pending
from local_agent.store.patience import Patience
from local_agent.store.private_copy import PrivateCopy
from local_agent.store.revisions import migrations_folder, newest_schema, schema_number, shipped
from local_agent.store.time_reads import TimeReads
from local_agent.store.transcripts import Transcripts


class Store(Catalogue, Transcripts, Calls, TimeReads):
    """All sessions of one user. Reads see committed rows; every write is one transaction."""

    def __init__(
        self,
        gateway: Gateway,
        path: Path | None,
        notices: tuple[str, ...] = (),
        copy: PrivateCopy | None = None,
    ) -> None:
        locks = path.parent / "locks" if path is not None and copy is None else None
        self._gateway = gateway
        self._path = path
        self._copy = copy
        self._holding = Holding(gateway, KernelLocks(locks))
        self.notices = notices
        """What the person should know of where the database lies."""

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        program_version: str,
        patience: Patience | None = None,
        migrations: Path | None = None,
    ) -> Store:
        """Open the file, building or migrating it first. Blocking; raises ``StoreError``.

        ``OnlyReadable`` and ``Damaged`` say that ``read_copy`` may do. ``migrations``: others than our own.
        """
        patience = patience or Patience()
        backups = path.parent / "backups"
        content = examine(path, patience)
        pending = content is Content.NOTHING or update_pending(path, backups, patience, migrations)
        if content is Content.OURS:
            require_writable(path)
        try:
            private_folder(path.parent)
            was_open = close_to_others(path.parent)
            engine = open_engine(path)
        except OSError as error:
            refused = NotSaved(
                f"{path} can't be written: {error.strerror}.",
                "Set LOCAL_AGENT_HOME to a folder that can be written, or start with --no-save.",
                str(error),
            )
            raise (not_writable(path, refused) if content is Content.OURS else refused) from error
        try:
            notices = share(engine, path, patience)
            if pending:
                migrate(engine, path, backups, program_version, migrations, patience)
        except NotSaved as error:
            if content is not Content.OURS or error.line == LOCKED[0]:
                raise
            raise not_writable(path, error) from error
        except Damaged as error:
            raise Damaged(f"{path} is damaged.", error.hint, error.raw) from error
        if was_open:
            notices = (f"Others on this machine could look into {path.parent}; now only you can.", *notices)
        return cls(Gateway(engine, newest_schema(migrations)), path, notices)

    @classmethod
    def read_copy(cls, path: Path, *, program_version: str) -> Store:
        """Read what is in the file from a private copy; every write is refused with ``NotSaved``."""
        copy = PrivateCopy(path)
        try:
            examine(copy.path)
            engine = open_engine(copy.path, lone=True)
            schema = schema_number(shipped(migrations_folder()))
            with engine.connect() as connection:
                driver = driver_of(connection)
                if driver.execute("PRAGMA user_version").fetchone() != (schema,):
                    migrate(engine, copy.path, copy.path.parent / "backups", program_version)
                driver.execute("PRAGMA query_only = ON")
        except BaseException:
            copy.remove()
            raise
        if os.name == "posix":
            # It has its one connection: without a name it can't outlive this process, however that ends.
            copy.remove()
        return cls(Gateway(engine, schema, in_memory=True), path, copy=copy)

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
    def writable(self) -> bool:
        """False for a copy that is only read."""
        return self._copy is None

    def on_wait(self, callback: Callable[[bool], None] | None) -> None:
        """Have ``callback`` called: True when something has waited a second for a lock, False after it."""
        self._gateway.on_wait = callback

    def hurry(self, seconds: float | None) -> None:
        """Let nothing wait for a lock beyond ``seconds`` from now; None ends the hurry."""
        self._gateway.hurry(seconds)

    async def close(self) -> None:
        """Let all sessions go, then close; takes two seconds at most, whatever the disk does."""
        await self._holding.release_all()
        await self._gateway.close()
        if self._copy is not None:
            self._copy.remove()

    async def create(self, new: NewSession, opening: Opening) -> tuple[HeldSession, OpenTurn]:
        """Session, lease and first question in one transaction."""
        return await self._holding.create(new, opening)

    async def hold(self, handle: str) -> HeldSession:
        """Take the lease; ``SessionHeld`` while another process lives that has it."""
        return await self._holding.hold(handle)

    async def take_over(self, handle: str) -> HeldSession:
        """Take the lease from whoever has it."""
        return await self._holding.take_over(handle)

    async def footprint(self, handle: str) -> Footprint:
        """What a purge would delete; ``StoreError`` for a session that is not in the trash."""

        def work(db: Session) -> Footprint:
            session_id = sessions.by_handle(db, handle).id
            purge.require_trashed(db, session_id)
            return purge.footprint(db, session_id)

        return await self._gateway.read(work)

    async def purge(self, handle: str) -> Purged:
        """Delete a session of the trash for good; ``SessionHeld`` while another process has it."""
        held = await self._holding.hold(handle)
        try:
            return await held.purge()
        finally:
            await held.release()

    async def named_objects(self) -> set[str]:
        """Digests of all pictures, outputs and contents that any row names."""
        return await self._gateway.read(lambda db: purge.named_objects(db.connection()))

    async def save_draft(
        self, workspace_root: str, session_id: int | None, draft: Draft, *, moved_from: int | None = None
    ) -> None:
        """Replace the unsent work of a session, or of this process while there is none; empty removes it.

        What was kept of it in session ``moved_from`` is removed in the same transaction, unless that
        session is another process's by now.
        """

        def work(db: Session) -> None:
            if session_id is not None:
                self._holding.require_not_elsewhere(db, session_id)
            if moved_from is not None:
                with suppress(LeaseLost):
                    self._holding.require_not_elsewhere(db, moved_from)
                    drafts.save(db, workspace_root, moved_from, Draft(""))
            drafts.save(db, workspace_root, session_id, draft)

        await self._gateway.write(work, "draft.save")

    async def take_draft(self, workspace_root: str, session_id: int | None) -> Draft | None:
        """The session's draft; without a session, that of a process that is dead by now."""
        return await self._gateway.write(lambda db: drafts.take(db, workspace_root, session_id), "draft.take")

    async def facts(self) -> dict[str, object]:
        """For the doctor and the runtime view; sizes are bytes."""

        def work(db: Session) -> dict[str, object]:
            connection = db.connection()
            return {
                "path": str(self._path) if self._path is not None else None,
                "size": self._path.stat().st_size if self._path is not None else None,
                "revision": connection.exec_driver_sql(
                    "SELECT max(revision) FROM schema_migrations"
                ).scalar(),
                "journal": connection.exec_driver_sql("PRAGMA journal_mode").scalar(),
                "last_backup": _newest_backup(self._path),
                "sqlite": sqlite3.sqlite_version,
            }

        return await self._gateway.read(work)


def _newest_backup(path: Path | None) -> str | None:
    newest = newest_copy(path.parent / "backups") if path is not None else None
    return newest.name if newest is not None else None
