"""Content-addressed files of one person's: each lies once, under the digest of its bytes.

An object is on disk before ``put`` returns, whole or not at all, so that a row that names it may be
written then. Where many come at once, they may be put without that and settled together. Nothing here knows
what refers to what.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock
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

    def put(self, data: bytes, *, durable: bool = True) -> str:
        """Keep ``data`` and return its digest. Raises ``LocalAgentError`` when it can't be kept.

        What is not ``durable`` survives the end of the process, and a power cut once it is settled.
        """

    def settle(self, digests: Iterable[str]) -> None:
        """Have what was put survive a power cut. Raises as ``put`` does."""

    def get(self, digest: str) -> bytes:
        """What was put; raises ``ObjectMissing`` for what is gone or altered."""

    def has(self, digest: str) -> bool:
        """Whether ``get`` would find a file of that name; what is in it is not read."""

    def all(self) -> Iterable[StoredObject]:
        """Everything that is kept."""

    def remove(self, name: str, spared: float = SPARED_SECONDS) -> bool:
        """Remove what ``all`` named, unless it was put within ``spared`` seconds; False when it stays."""


class ObjectFolder:
    """Objects as files ``ab/<digest>`` in a folder that only its owner can read. All calls block."""

    def __init__(self, folder: Path, on_written: Callable[[], None] | None = None) -> None:
        """``on_written`` is called after each object that was not there before, in the thread that put it."""
        self.folder = folder
        self._on_written = on_written
        self.written = 0
        """Bytes that were put by this and were not there before."""

    def put(self, data: bytes, *, durable: bool = True) -> str:
        """Keep ``data``; again costs a read. Any number of processes may put the same at once."""
        digest = digest_of(data)
        path = self._path(digest)
        with self._can_be_written():
            if not self._renew(path, digest, durable):
                self._write(path, data, durable)
                self.written += len(data)
                if self._on_written is not None:
                    self._on_written()
        return digest

    def settle(self, digests: Iterable[str]) -> None:
        """Files first, each folder once."""
        paths = {self._path(digest) for digest in digests}
        with self._can_be_written():
            for path in paths:
                _sync_file(path)
            for folder in {path.parent for path in paths}:
                sync_folder(folder)
            if paths:
                sync_folder(self.folder)

    def get(self, digest: str) -> bytes:
        """Read an object and compare it with its digest."""
        try:
            data = read_regular(self._path(digest), LIMIT)
        except Refused as refused:
            raise ObjectMissing(f"{refused}.", "Attach it again.") from refused
        if digest_of(data) != digest:
            raise ObjectMissing("was altered on disk.", "Attach it again.")
        return data

    def has(self, digest: str) -> bool:
        """Whether a regular file has its name."""
        return self._path(digest).is_file()

    def all(self) -> Iterator[StoredObject]:
        """Every object, and what a writer that died left half-written, under the name of its file."""
        for folder in _entries(self.folder):
            if len(folder.name) != 2:
                continue
            for entry in _entries(folder.path):
                if not _OURS.fullmatch(entry.name):
                    continue
                with suppress(OSError):
                    seen = entry.stat(follow_symlinks=False)
                    yield StoredObject(entry.name, seen.st_size, seen.st_mtime)

    def remove(self, name: str, spared: float = SPARED_SECONDS) -> bool:
        """Remove what ``all`` named, unless it was put within ``spared`` seconds; False when it stays.

        It is moved aside first: whoever puts it at this moment either finds it gone and writes it again, or
        has renewed it, which is seen once it can't be renewed any more.
        """
        path = self.folder / name.lstrip(".")[:2] / name
        aside = _scratch(path)
        try:
            path.rename(aside)
            if time.time() - aside.lstat().st_mtime < spared:
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

    @contextmanager
    def _can_be_written(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            line = f"{self.folder} can't be written: {error.strerror or type(error).__name__}."
            raise LocalAgentError(line, "Make room there, or make it writable.", str(error)) from error

    def _renew(self, path: Path, digest: str, durable: bool) -> bool:
        """True when it is there, whole, and counts as put now."""
        with suppress(OSError, Refused):
            os.utime(path)
            if digest_of(read_regular(path, LIMIT)) != digest:
                return False
            if durable:  # whoever put it before may not have waited for that
                _sync_file(path)
                self._sync_name(path)
            return True
        return False

    def _write(self, path: Path, data: bytes, durable: bool) -> None:
        write_private(path, data, durable=durable)
        if durable:
            self._sync_name(path)

    def _sync_name(self, path: Path) -> None:
        sync_folder(path.parent)
        sync_folder(self.folder)


class ObjectsInMemory:
    """The same for a run that leaves nothing on disk; beyond ``most`` bytes the oldest go."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._size = 0
        self._objects: dict[str, bytes] = {}
        self._changing = Lock()

    def put(self, data: bytes, *, durable: bool = True) -> str:
        """Keep ``data`` until the process ends."""
        digest = digest_of(data)
        with self._changing:
            self._size += len(data) - len(self._objects.pop(digest, b""))
            self._objects[digest] = data
            while self._most is not None and self._size > self._most and len(self._objects) > 1:
                self._size -= len(self._objects.pop(next(iter(self._objects))))
        return digest

    def settle(self, digests: Iterable[str]) -> None:
        """Nothing here survives anything."""

    def get(self, digest: str) -> bytes:
        """What was put."""
        data = self._objects.get(digest)
        if data is None:
            raise ObjectMissing("is not there.", "Attach it again.")
        return data

    def has(self, digest: str) -> bool:
        """Whether it is there."""
        return digest in self._objects

    def all(self) -> Iterable[StoredObject]:
        """Nothing that anybody would tidy up."""
        return ()

    def remove(self, name: str, spared: float = SPARED_SECONDS) -> bool:
        """What is here goes with the process."""
        return False


def digest_of(data: bytes) -> str:
    """SHA-256 in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _scratch(path: Path) -> Path:
    from secrets import token_hex  # OpenSSL, which a start does not need

    return path.with_name(f".{path.name.lstrip('.')[:64]}.{token_hex(4)}")


def _sync_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _entries(folder: Path | str) -> list[os.DirEntry[str]]:
    """What a folder holds, by name; nothing where it can't be listed."""
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []
