"""Folders and files that only their owner can read, whatever the umask."""

from __future__ import annotations

import errno
import os
import stat
import sys
from contextlib import suppress
from pathlib import Path

from local_agent.config.paths import APP


def private_folder(path: Path) -> None:
    """Create a folder with mode 0700, its missing parents too."""
    if path.is_dir():
        return
    if path.parent != path:
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)


def close_to_others(folder: Path) -> bool:
    """Take other people's rights to a folder of this program's name; True when they had any.

    Another name was chosen by the person, who may share that folder: what lies in it is private by itself.
    """
    if folder.name != APP or sys.platform == "win32":
        return False
    seen = folder.stat()
    if not seen.st_mode & 0o077 or seen.st_uid != os.geteuid():
        return False
    folder.chmod(0o700)
    return True


def create_private(path: Path, flags: int) -> int:
    """A descriptor of a file with mode 0600, made when it is not there, tightened when it is."""
    descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    if sys.platform != "win32":
        # The umask may have taken its owner's rights too. A file of somebody else's stays as it is.
        with suppress(PermissionError):
            os.fchmod(descriptor, 0o600)
    return descriptor


def write_private(path: Path, data: bytes, *, durable: bool = True) -> None:
    """Replace a file in one step with mode 0600; it is on disk, or the old one stays.

    What is not ``durable`` may be lost, or be there in part, after a power cut.
    """
    from secrets import token_hex  # OpenSSL, which a start does not need

    private_folder(path.parent)
    scratch = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = create_private(scratch, os.O_WRONLY | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def read_regular(path: Path, limit: int) -> bytes:
    """At most ``limit`` bytes of a file; ``ValueError`` for a pipe or device, ``OSError`` also for a link."""
    # Opening must not wait for a pipe's other end.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        return file.read(limit)


def rename_to_new(scratch: Path, target: Path) -> None:
    """A rename that replaces nothing, where the file system has hard links; else ``FileExistsError``."""
    with suppress(PermissionError, NotImplementedError):
        os.link(scratch, target)
        return
    if os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
    scratch.rename(target)


def sync_folder(folder: Path) -> None:
    """Make a new or renamed file's name in ``folder`` survive a power cut."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
