"""Who holds a session: a kernel lock on a file of the lease's generation, and a row that names the holder.

The lock says whether the holder lives; the row's token says whether a write may still happen.
Taking over raises generation and token, so a stopped holder that wakes finds its token gone.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from sqlalchemy import update
from sqlalchemy.orm import Session

from local_agent.config.private_files import private_folder
from local_agent.domain.errors import LeaseLost, SessionHeld, StoreError
from local_agent.domain.sessions import Holder
from local_agent.store.clock import utc_now
from local_agent.store.engine import network_file_system
from local_agent.store.models import LeaseRow
from local_agent.store.processes import ProcessIdentity, host_name, terminal_name, this_process

FIRST_GENERATION = 1


class KernelLocks:
    """Lock files in one folder; without a folder (nothing is saved) every lock is granted.

    ``trusted`` is False where processes of other machines may not meet our locks; None: look and see.
    """

    def __init__(self, folder: Path | None, trusted: bool | None = None) -> None:
        self._folder = folder
        self._trusted = trusted

    def named_by(self, row: LeaseRow | None, handle: str) -> bool:
        """Whether the row names the living holder of a lock that we did not get, and no earlier one."""
        if row is None or self._folder is None or holder_of(row) is None:
            return False
        try:
            signed = _lock_file(self._folder, handle, row.generation).read_text("ascii")
        except (OSError, ValueError):
            return True
        return signed == row.token

    def say_it_is_free(self, row: LeaseRow | None) -> bool:
        """Whether a lock that we got proves that whoever the row names is gone."""
        if row is None or row.token is None or row.machine_id == this_process().machine_id:
            return True
        if self._trusted is None:
            self._trusted = self._folder is None or not network_file_system(self._folder / "lock")
        return self._trusted

    def take(self, handle: str, generation: int) -> KernelLock | None:
        """The lock of a session's generation, at once or not at all."""
        if self._folder is None:
            return KernelLock(None)
        try:
            private_folder(self._folder)
            # The defaults would bind the lock to one thread, and on a file system without locks
            # leave a marker behind that outlives its process.
            lock = FileLock(
                _lock_file(self._folder, handle, generation),
                mode=0o600,
                thread_local=False,
                blocking=False,
                fallback_to_soft=False,
                preserve_lock_file=True,
            )
            lock.acquire()
        except Timeout:
            return None
        except OSError as error:
            raise StoreError(
                f"Sessions can't be locked in {self._folder}.",
                "Set LOCAL_AGENT_HOME to a folder on a local disk.",
                str(error),
            ) from error
        return KernelLock(lock)


def _lock_file(folder: Path, handle: str, generation: int) -> Path:
    return folder / f"{handle}.{generation}.lock"


class KernelLock:
    """A lock that the system gives back when the process ends, however it ends."""

    def __init__(self, lock: FileLock | None) -> None:
        self._lock = lock

    def sign(self, token: str) -> None:
        """Write into the file which row's lock it is: others may ask before that row is written."""
        if self._lock is not None:
            with suppress(OSError):  # Windows lets nobody write what is locked; there the row alone counts
                Path(self._lock.lock_file).write_text(token, "ascii")

    def release(self) -> None:
        if self._lock is not None and self._lock.is_locked:
            self.sign("")
            self._lock.release()

    def discard(self) -> None:
        """Release, and remove the file: for a handle that nobody has heard of."""
        self.release()
        if self._lock is not None:
            Path(self._lock.lock_file).unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Lease:
    """What a holder needs to write."""

    session_id: int
    handle: str
    generation: int
    token: str
    lock: KernelLock


def new_token() -> str:
    return secrets.token_hex(16)


def generation_of(db: Session, session_id: int) -> int:
    row = db.get(LeaseRow, session_id)
    return row.generation if row is not None else FIRST_GENERATION


def record_holder(db: Session, session_id: int, generation: int, token: str) -> None:
    """Name this process as the holder."""
    process = this_process()
    db.merge(
        LeaseRow(
            session_id=session_id,
            generation=generation,
            token=token,
            pid=process.pid,
            process_start=process.process_start,
            machine_id=process.machine_id,
            boot_id=process.boot_id,
            host=host_name(),
            terminal=terminal_name(),
            since=utc_now(),
        )
    )


def require(db: Session, lease: Lease) -> None:
    """Raise ``LeaseLost`` unless the lease is still ours; part of every write to a session."""
    row = db.get(LeaseRow, lease.session_id)
    if row is not None and row.token == lease.token:
        return
    what = "was let go" if row is None or row.token is None else f"was taken over by process {row.pid}"
    raise LeaseLost(
        f"Session {lease.handle} {what}; nothing more is written here.",
        f"Take it back with: local-agent --resume {lease.handle}",
    )


def require_free(db: Session, session_id: int, handle: str, ours: Collection[str]) -> None:
    """Raise ``SessionHeld`` while another process lives that holds the session."""
    row = db.get(LeaseRow, session_id)
    holder = holder_of(row)
    if row is not None and row.token not in ours and holder is not None:
        raise SessionHeld(handle, holder)


def require_not_elsewhere(db: Session, session_id: int, ours: Collection[str]) -> None:
    """Raise ``LeaseLost`` when the row names a holder and none of our tokens is its."""
    row = db.get(LeaseRow, session_id)
    if row is not None and row.token is not None and row.token not in ours:
        raise LeaseLost(f"The session is open in process {row.pid}.", "What was typed here is not kept.")


def forget_holder(db: Session, lease: Lease) -> None:
    """Say that nobody holds the session, unless somebody else does by now."""
    ours = LeaseRow.session_id == lease.session_id, LeaseRow.token == lease.token
    db.execute(update(LeaseRow).where(*ours).values(token=None))


def holder_of(row: LeaseRow | None) -> Holder | None:
    """The living holder that a row names."""
    if row is None or row.token is None:
        return None
    named = ProcessIdentity(row.pid, row.process_start, row.machine_id, row.boot_id)
    return named_holder(row) if named.alive() else None


def named_holder(row: LeaseRow) -> Holder:
    return Holder(row.pid, row.host, row.terminal, row.since, row.generation)
