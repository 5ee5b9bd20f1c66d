"""The output of one command while it grows: its ends in memory, the whole in a file that has no name."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections import deque
from collections.abc import Callable
from typing import BinaryIO

from local_agent.domain.errors import LocalAgentError
from local_agent.objects.store import LIMIT as OBJECT_LIMIT
from local_agent.objects.store import Objects
from local_agent.tools.shell.reading import Part, back, front

ROOM = 128 * 1024
"""Bytes of the beginning, and of the end, that stay in memory."""


def _nameless() -> BinaryIO:
    return tempfile.TemporaryFile(buffering=0)


class Collected:
    """Everything up to 64 MiB can be read by offset; of what comes after it only the end is there."""

    def __init__(self, spool: Callable[[], BinaryIO] = _nameless, most: int = OBJECT_LIMIT) -> None:
        self.size = 0
        """Bytes that were written."""
        self.breaks = 0
        """Line breaks among them."""
        self.lost = ""
        """Why not all of it can be kept, a sentence without its full stop; empty while it can."""
        self._open_spool = spool
        self._most = most
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self._spool: BinaryIO | None = None

    async def feed(self, data: bytes) -> None:
        """More of it. Never raises: what can't be kept is counted."""
        self.size += len(data)
        self.breaks += data.count(b"\n")
        if self.size <= ROOM:
            self._head += data
            return
        if not self.lost:
            await asyncio.to_thread(self._spill, data)
        self._tail.append(data)
        self._tail_size += len(data)
        while self._tail_size - len(self._tail[0]) >= ROOM:
            self._tail_size -= len(self._tail.popleft())

    def _spill(self, data: bytes) -> None:
        try:
            if self._spool is None:
                self._spool = self._open_spool()
                data = bytes(self._head) + data
            kept = memoryview(data)
            while kept:
                kept = kept[self._spool.write(kept) :]
        except OSError as error:
            self.lost = f"there is no room for more of it ({error.strerror})"
        else:
            if self.size > self._most:
                self.lost = f"no more than {self._most:,} bytes are kept"

    async def keep(self, outputs: Objects) -> str:
        """Put what is kept into the store, and return its digest; empty when that fails."""
        try:
            return await asyncio.to_thread(lambda: outputs.put(self._read(0, self._most)))
        except LocalAgentError as error:
            self.lost = f"it could not be kept: {error.line.rstrip('.')}"
            return ""

    def close(self) -> None:
        """Let all of it go but its size."""
        if self._spool is not None:
            self._spool.close()
            self._spool = None
        self._head.clear()
        self._tail.clear()

    async def read(self, offset: int, limit: int) -> bytes:
        """Some of what is kept, without an end where it is not there."""
        return await asyncio.to_thread(self._read, offset, limit)

    def _read(self, offset: int, limit: int) -> bytes:
        if self._spool is None:
            return bytes(self._head[offset : offset + limit])
        found = bytearray()
        # Reading by place leaves alone the place where writing goes on.
        while piece := os.pread(self._spool.fileno(), limit - len(found), offset + len(found)):
            found += piece
        return bytes(found)

    @property
    def whole(self) -> bytes:
        """All of it, where it is short enough to be in memory; else its beginning."""
        return bytes(self._head)

    def beginning(self, limit: int) -> Part:
        """Its first lines."""
        return front(bytes(self._head), limit)

    def end(self, limit: int) -> Part:
        """Its last lines."""
        held = b"".join(self._tail)
        if len(self._head) + len(held) == self.size:
            held = bytes(self._head) + held
        return back(held, limit, self.size - len(held))
