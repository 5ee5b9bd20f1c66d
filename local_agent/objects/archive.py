"""The zip file that a bundle is: written whole or not at all, and read only once every part was checked."""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from local_agent.config.private_files import create_private, rename_to_new, sync_folder
from local_agent.domain.bundles import (
    LOOSE_BYTES,
    MANIFEST,
    MANIFEST_BYTES,
    MOST_MEMBERS,
    RATIO,
    TOTAL_BYTES,
    Manifest,
    Member,
    NoBundle,
    read_manifest,
    require_name,
)

_MOMENT = (1980, 1, 1, 0, 0, 0)
_UNIX = 3
_MODE = (stat.S_IFREG | 0o600) << 16
_LEVEL = 6
_PIECE = 1 << 20
_ENCRYPTED = 0x1 | 0x40
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
    LookupError,
    OverflowError,
    MemoryError,
)
"""What ``zipfile`` raises for bytes that are no zip file."""


class Archive:
    """An open bundle in which every part is what the manifest says."""

    def __init__(self, packed: zipfile.ZipFile, manifest: Manifest) -> None:
        self._packed = packed
        self.manifest = manifest

    def read(self, name: str) -> bytes:
        """All bytes of a part. Raises ``NoBundle`` when the file was changed since it was checked."""
        with _whole():
            data = self._packed.read(name)
        if hashlib.sha256(data).hexdigest() != self.manifest.members[name].sha256:
            raise NoBundle("was changed while it was read")
        return data


def write_archive(
    path: Path, parts: Iterable[tuple[str, bytes]], program_version: str, schema: str, *, replace: bool
) -> None:
    """Write parts, in their order, and the manifest that names them; mode 0600.

    Raises ``FileExistsError`` where there is something and ``replace`` is False, ``OSError``, and
    ``NoBundle`` for more than a bundle may hold.
    """
    from secrets import token_hex  # OpenSSL, which a start does not need

    scratch = path.with_name(f".{path.name[:200]}.{token_hex(4)}.partial")
    descriptor = create_private(scratch, os.O_RDWR | os.O_EXCL)
    try:
        with os.fdopen(descriptor, "r+b") as file:
            _pack(file, parts, program_version, schema)
            file.flush()
            os.fsync(file.fileno())
        if replace:
            scratch.replace(path)
        else:
            rename_to_new(scratch, path)
    finally:
        scratch.unlink(missing_ok=True)
    sync_folder(path.parent)


@contextmanager
def open_archive(path: Path, schema: str) -> Iterator[Archive]:
    """Check everything in a file; see ``read_manifest`` for ``schema``.

    Raises ``NoBundle``, ``FileNotFoundError`` and, for what can't be opened, ``OSError``.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        seen = os.fstat(file.fileno())
        if not stat.S_ISREG(seen.st_mode):
            raise NoBundle("is no file")
        with _whole():
            packed = zipfile.ZipFile(file)
        with packed:
            yield _checked(packed, seen.st_size, schema)


def _without_waiting(path: str, flags: int) -> int:
    """A pipe without a writer would block the opening itself."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _pack(file: BinaryIO, parts: Iterable[tuple[str, bytes]], program_version: str, schema: str) -> None:
    members: dict[str, Member] = {}
    total = 0
    with zipfile.ZipFile(file, "w") as packed:
        for name, data in parts:
            require_name(name)
            members[name] = Member(hashlib.sha256(data).hexdigest(), len(data))
            packed.writestr(_info(name, data), data, compresslevel=_LEVEL)
            total += len(data)
            if len(members) >= MOST_MEMBERS or total > TOTAL_BYTES:
                raise NoBundle("would be larger than a bundle may be")
        data = Manifest(program_version, schema, members).data
        packed.writestr(_info(MANIFEST, data), data, compresslevel=_LEVEL)


def _info(name: str, data: bytes) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _MOMENT)
    info.create_system = _UNIX
    info.external_attr = _MODE
    # What packs tighter than a reader accepts is stored as it is.
    tight = len(data) > LOOSE_BYTES and len(zlib.compress(data, _LEVEL)) * RATIO < len(data) * 2
    info.compress_type = zipfile.ZIP_STORED if tight else zipfile.ZIP_DEFLATED
    return info


def _checked(packed: zipfile.ZipFile, size: int, schema: str) -> Archive:
    infos = packed.infolist()
    _require_bounds(infos, size)
    known = {info.filename: info for info in infos}
    if MANIFEST not in known:
        raise NoBundle("is no bundle of a session")
    with _whole():
        data = packed.read(MANIFEST)
    manifest = read_manifest(data, schema)
    if known.keys() - {MANIFEST} != manifest.members.keys():
        raise NoBundle("has other parts than its manifest names")
    for name, member in manifest.members.items():
        if known[name].file_size != member.size or _digest(packed, known[name]) != member.sha256:
            raise NoBundle(f"is damaged: {name} is not what its manifest says")
    return Archive(packed, manifest)


def _require_bounds(infos: list[zipfile.ZipInfo], size: int) -> None:
    """What the directory of the file says, before anything is unpacked."""
    if len(infos) > MOST_MEMBERS:
        raise NoBundle("has more parts than a bundle may have")
    for info in infos:
        require_name(info.orig_filename)
        if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise NoBundle("is encrypted, or packed in a way that bundles are not")
        tight = info.file_size > max(LOOSE_BYTES, RATIO * info.compress_size)
        if tight or (info.filename == MANIFEST and info.file_size > MANIFEST_BYTES):
            raise NoBundle("would unpack to far more than it holds")
    if len({info.filename for info in infos}) < len(infos):
        raise NoBundle("has two parts of one name")
    if sum(i.file_size for i in infos) > TOTAL_BYTES or sum(i.compress_size for i in infos) > size:
        raise NoBundle("would unpack to far more than it holds")


def _digest(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> str:
    """Reads no more than ``info.file_size`` bytes."""
    digest = hashlib.sha256()
    with _whole(), packed.open(info) as part:
        while piece := part.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except _UNREADABLE as error:
        raise NoBundle("is no zip file, or not all of one") from error
