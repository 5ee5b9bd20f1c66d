"""Content-addressed files of one person's: each lies once, under the digest of its bytes.

An object is on disk before ``put`` returns, whole or not at all, so that a row that names it may be
written then. Nothing here knows what refers to what.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from local_agent.config.private_files import sync_folder, write_private
from local_agent.domain.errors import LocalAgentError
from local_agent.objects.reading import Refused, read_regular

LIMIT = 64 * 1024 * 1024
"""Bytes of an object; what is larger was not written here."""
SPARED_SECONDS = 24 * 3600
"""What was put so recently is never removed: somebody may be about to refer to it."""

_OURS = re.compile(r"[0-9a-f]{64}|\.[0-9a-f]{64}\.[0-9a-f]{8}", re.ASCII)
"""An object, and what a writer or remover that died left of one."""
_NAME = re.compile(r"[0-9a-f]{64}", re.ASCII)


class ObjectMissing(LocalAgentError):
    """An object is not there, or is not what was put there."""


class StoredObject(NamedTuple):
    """One object on disk."""

    digest: str
    size: int
    """Bytes."""
    put_at: float
    """Seconds since the epoch, of the last ``put``."""


class Objects(Protocol):
    """Where bytes are kept by their SHA-256."""

    def put(self, data: bytes) -> str:
        """Keep ``data`` and return its digest. Raises ``LocalAgentError`` when it can't be kept."""

    def get(self, digest: str) -> bytes:
        """What was put; raises ``ObjectMissing`` for what is gone or altered."""

    def all(self) -> Iterable[StoredObject]:
        """Everything that is kept."""

    def remove(self, name: str) -> bool:
        """Remove what ``all`` named, unless it was put within a day; False when it stays."""


class ObjectFolder:
    """Objects as files ``ab/<digest>`` in a folder that only its owner can read. All calls block."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, data: bytes) -> str:
        """Keep ``data``; again costs a read. Any number of processes may put the same at once."""
        digest = digest_of(data)
        path = self._path(digest)
        try:
            if not self._renew(path, digest):
                self._write(path, data)
        except OSError as error:
            line = f"{self.folder} can't be written: {error.strerror or type(error).__name__}."
            raise LocalAgentError(line, "Make room there, or make it writable.", str(error)) from error
        return digest

    def get(self, digest: str) -> bytes:
        """Read an object and compare it with its digest."""
        try:
            data = read_regular(self._path(digest), LIMIT)
        except Refused as refused:
            raise ObjectMissing(f"{refused}.", "Attach it again.") from refused
        if digest_of(data) != digest:
            raise ObjectMissing("was altered on disk.", "Attach it again.")
        return data

    def all(self) -> Iterator[StoredObject]:
        """Every object, and what a writer that died left half-written, under the name of its file."""
        for path in sorted(self.folder.glob("??/*")):
            if not _OURS.fullmatch(path.name):
                continue
            with suppress(OSError):
                seen = path.lstat()
                yield StoredObject(path.name, seen.st_size, seen.st_mtime)

    def remove(self, name: str) -> bool:
        """Remove what ``all`` named, unless it was put within a day; False when it stays.

        It is moved aside first: whoever puts it at this moment either finds it gone and writes it again, or
        has renewed it, which is seen once it can't be renewed any more.
        """
        path = self.folder / name.lstrip(".")[:2] / name
        aside = _scratch(path)
        try:
            path.rename(aside)
            if time.time() - aside.lstat().st_mtime < SPARED_SECONDS:
                aside.rename(path)
                return False
            aside.unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            raise LocalAgentError(f"{path} can't be removed: {error.strerror}.", "", str(error)) from error
        return True

    def _path(self, digest: str) -> Path:
        if not _NAME.fullmatch(digest):
            raise ObjectMissing("has no name that an object can have.")
        return self.folder / digest[:2] / digest

    def _renew(self, path: Path, digest: str) -> bool:
        """True when it is there, whole, and counts as put now."""
        with suppress(OSError, Refused):
            os.utime(path)
            return digest_of(read_regular(path, LIMIT)) == digest
        return False

    def _write(self, path: Path, data: bytes) -> None:
        write_private(path, data)
        sync_folder(path.parent)
        sync_folder(self.folder)


class ObjectsInMemory:
    """The same for a run that leaves nothing on disk."""

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def put(self, data: bytes) -> str:
        """Keep ``data`` until the process ends."""
        digest = digest_of(data)
        self._objects[digest] = data
        return digest

    def get(self, digest: str) -> bytes:
        """What was put."""
        if digest not in self._objects:
            raise ObjectMissing("is not there.", "Attach it again.")
        return self._objects[digest]

    def all(self) -> Iterable[StoredObject]:
        """Nothing that anybody would tidy up."""
        return ()

    def remove(self, name: str) -> bool:
        """What is here goes with the process."""
        return False


def digest_of(data: bytes) -> str:
    """SHA-256 in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _scratch(path: Path) -> Path:
    from secrets import token_hex  # OpenSSL, which a start does not need

    return path.with_name(f".{path.name.lstrip('.')[:64]}.{token_hex(4)}")
