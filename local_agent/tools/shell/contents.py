"""What the files of a workspace hold, read while there is time for it and remembered by what they were.

The contents lie in a file that has no name, and only what a command has changed goes into the object store.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from local_agent.config.secrets import is_secret
from local_agent.domain.errors import LocalAgentError
from local_agent.tools.folder import Folder
from local_agent.tools.shell.snapshot import Look, Seen
from local_agent.workspace.beneath import folder_beneath
from local_agent.workspace.walk import TICK

SMALL = 256 * 1024
"""Bytes of a file that is read before anything has happened to it."""
LARGE = 16 * 1024 * 1024
"""Bytes of a changed file whose new content is kept, so that what changes it next can be undone."""
HUGE = 512 * 1024 * 1024
"""Bytes of a file that can't be read in the time of a look: none of it is."""
SPOOL = 128 * 1024 * 1024
"""Bytes of contents that are held."""
LEAST = 64
"""Files that were changed last are read even when that takes longer than it should."""
_PIECE = 1 << 20


class Content(NamedTuple):
    """What a file or link holds."""

    digest: str
    size: int
    offset: int | None = None
    """Where it lies in the spool; None when it is not there."""


class Contents:
    """The contents of one workspace, for any number of threads."""

    def __init__(self, most: int = SPOOL) -> None:
        self._most = most
        self._known: dict[str, tuple[Seen, Content]] = {}
        self._young: set[str] = set()
        """What had changed so shortly before it was read that it may since have changed unseen."""
        self._doubtful: set[str] = set()
        """What had, before the last command: it is read again whatever its size."""
        self._spool: int | None = None
        self._end = 0
        self._writing = threading.Lock()

    def of(self, path: str, seen: Seen) -> Content | None:
        """What a path held when it was this; None when that was never read."""
        then, content = self._known.get(path, (None, None))
        return content if then == seen else None

    def begin(self) -> None:
        """Forget what can't be relied on any more; to be called before each command."""
        self._doubtful, self._young = self._young, set()
        for path in self._doubtful:
            self._known.pop(path, None)
        if self._end >= self._most:
            held = sum(each.size for _, each in self._known.values() if each.offset is not None)
            if held < self._most // 2:  # the rest is of files that hold something else by now
                self._known.clear()
                self._end = 0

    def learn(
        self, folder: Folder, look: Look, until: float, stop: threading.Event, least: int = LEAST
    ) -> None:
        """Read the small files that are not known, the youngest first.

        ``least`` of them are read whatever the time, but for a stop.
        """
        unknown = [
            (path, seen)
            for path, seen in look.paths.items()
            if not seen.folder
            and (seen.size <= SMALL or path in self._doubtful)
            and self.of(path, seen) is None
        ]
        unknown.sort(key=lambda each: each[1].changed, reverse=True)
        for number, (path, seen) in enumerate(unknown):
            if stop.is_set() or (number >= least and time.monotonic() > until):
                return
            if not is_secret(folder.root / path):
                self.read(folder, path, seen, until, stop)

    def read(self, folder: Folder, path: str, seen: Seen, until: float, stop: threading.Event) -> None:
        """Read a path that must not look like a secret, unless it is something else than was seen by now.

        What is not small is read as far as there is time, and goes into the object store at once.
        """
        if seen.size > HUGE:
            return
        young = seen.changed >= time.time_ns() - TICK
        with suppress(OSError, _NotRead):
            digest, data = _read(folder.root, path, seen, until, stop)
            offset = None
            if data is not None and folder.keeps_contents:
                if len(data) > SMALL:
                    _put(folder, data)
                else:
                    offset = self._spilled(data)
            size = seen.size if data is None else len(data)
            self._known[path] = seen, Content(digest, size, offset)
            if young:
                self._young.add(path)

    def keep(self, folder: Folder, content: Content) -> bool:
        """Put a content into the object store; False when it can't be kept."""
        if not folder.keeps_contents:
            return False
        if content.offset is None or self._spool is None:
            return folder.outputs.has(content.digest)
        data = os.pread(self._spool, content.size, content.offset)
        return _put(folder, data) == content.digest

    def _spilled(self, data: bytes) -> int | None:
        """Where data was put; None when there is no more room."""
        with self._writing:
            if self._end + len(data) > self._most:
                self._end = self._most
                return None
            if self._spool is None:
                self._spool = _nameless(self)
            offset = self._end
            if os.pwrite(self._spool, data, offset) != len(data):
                return None
            self._end += len(data)
            return offset


class _NotRead(Exception):
    """There is no time for it, or it is something else by now."""


def _nameless(owner: Contents) -> int:
    """A file of its owner's that goes with it; raises ``OSError``."""
    file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  # it is closed when its owner goes
    weakref.finalize(owner, file.close)
    return file.fileno()


def _put(folder: Folder, data: bytes) -> str:
    """Without waiting for the disk: what a power cut has torn is known by its digest. Empty on failure."""
    try:
        return folder.outputs.put(data, durable=False)
    except LocalAgentError:
        return ""


def _read(root: Path, path: str, seen: Seen, until: float, stop: threading.Event) -> tuple[str, bytes | None]:
    """The digest, and the data where it is not too large; raises ``OSError`` and ``_NotRead``."""
    *above, name = path.split("/")
    parent = folder_beneath(root, above)
    try:
        if seen.link:
            data = b"link to " + os.fsencode(os.readlink(name, dir_fd=parent))
            _require(seen, os.stat(name, dir_fd=parent, follow_symlinks=False))
            return hashlib.sha256(data).hexdigest(), data
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        descriptor = os.open(name, flags, dir_fd=parent)
    finally:
        os.close(parent)
    try:
        _require(seen, os.fstat(descriptor))
        found = _read_file(descriptor, seen.size, until, stop)
        _require(seen, os.fstat(descriptor))
        return found
    finally:
        os.close(descriptor)


def _require(seen: Seen, status: os.stat_result) -> None:
    if Seen.of(status) != seen:
        raise _NotRead


def _read_file(descriptor: int, size: int, until: float, stop: threading.Event) -> tuple[str, bytes | None]:
    pieces: list[bytes] = []
    digest, read = hashlib.sha256(), 0
    while piece := os.read(descriptor, _PIECE):
        digest.update(piece)
        read += len(piece)
        if read > size or (read > SMALL and (stop.is_set() or time.monotonic() > until)):
            raise _NotRead
        if size <= LARGE:
            pieces.append(piece)
    return digest.hexdigest(), b"".join(pieces) if size <= LARGE else None
