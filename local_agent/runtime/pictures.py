"""Pictures of a person's: checked and stored when they are attached, read when they are sent."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.pictures import Picture, named
from local_agent.objects.reading import MAX_BYTES, Refused, read_regular
from local_agent.objects.store import SPARED_SECONDS, ObjectMissing, Objects, StoredObject

DECODE_SECONDS = 30.0
"""How long a picture may take until it is given up; the largest takes a few on a slow machine."""


class Pictures:
    """The pictures of one person, by digest. One is decoded at a time, which bounds what that takes."""

    def __init__(self, objects: Objects, needed: Callable[[], Awaitable[set[str]]]) -> None:
        """``needed`` tells the digests of all that is referred to."""
        self.objects = objects
        self._needed = needed
        self._decoding = asyncio.Lock()

    async def accept(self, path: Path) -> Picture:
        """Take a picture from a file; ``LocalAgentError`` names the file and what is wrong with it."""
        return await self._accept(path.name or str(path), partial(read_regular, path, MAX_BYTES))

    async def accept_bytes(self, data: bytes, name: str) -> Picture:
        """Take a picture that is in no file, such as the clipboard's."""
        return await self._accept(name, lambda: data)

    async def read(self, picture: Picture) -> bytes:
        """The bytes as they were attached; ``LocalAgentError`` when they are gone or altered."""
        try:
            return await asyncio.to_thread(self.objects.get, picture.sha256)
        except ObjectMissing as missing:
            raise ObjectMissing(f"{picture.name} {missing.line}", missing.hint) from missing

    async def unused(self) -> list[StoredObject]:
        """What nothing refers to and was not attached within a day, half-written files among it."""
        # Listed before it is asked what is needed: what comes between is new.
        there = await asyncio.to_thread(lambda: list(self.objects.all()))
        needed, since = await self._needed(), time.time() - SPARED_SECONDS
        return [each for each in there if each.digest not in needed and each.put_at < since]

    async def remove_unused(self) -> list[StoredObject]:
        """Remove it; what was removed."""
        unused = await self.unused()
        return await asyncio.to_thread(lambda: [each for each in unused if self.objects.remove(each.digest)])

    async def _accept(self, name: str, read: Callable[[], bytes]) -> Picture:
        name = named(name)
        async with self._decoding:
            try:
                async with asyncio.timeout(DECODE_SECONDS):
                    return await asyncio.to_thread(self._take, name, read)
            except Refused as refused:
                raise UsageError(f"{name} {refused}.") from refused
            except TimeoutError:
                raise LocalAgentError(f"{name} can't be decoded in {DECODE_SECONDS:.0f} seconds.") from None

    def _take(self, name: str, read: Callable[[], bytes]) -> Picture:
        from local_agent.objects.decode import decode  # what few starts need

        decoded = decode(read())
        digest = self.objects.put(decoded.data)
        return Picture(digest, name, decoded.mime, len(decoded.data), decoded.width, decoded.height)
