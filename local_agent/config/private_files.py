"""Folders and files that only their owner can read, whatever the umask."""

from __future__ import annotations

import os
from pathlib import Path


def private_folder(path: Path) -> None:
    """Create a folder with mode 0700, its missing parents too."""
    if path.is_dir():
        return
    if path.parent != path:
        private_folder(path.parent)
    path.mkdir(mode=0o700, exist_ok=True)
    path.chmod(0o700)


def write_private(path: Path, data: bytes) -> None:
    """Replace a file in one step with mode 0600; it is on disk, or the old one stays."""
    from secrets import token_hex  # OpenSSL, which a start does not need

    private_folder(path.parent)
    scratch = path.with_name(f".{path.name}.{token_hex(4)}")
    descriptor = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise
