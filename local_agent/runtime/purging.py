"""Deletes a session for good, and takes off the disk what lay beside its rows."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from local_agent.config.paths import Paths
from local_agent.domain.errors import UnknownSession
from local_agent.domain.handles import is_handle
from local_agent.domain.purging import Footprint, Purged, Swept
from local_agent.objects.store import SPARED_SECONDS, ObjectFolder
from local_agent.store.purge import holds, wipe
from local_agent.store.store import Store


class Purging:
    """Rows first, in one transaction; then files. What a crash leaves of the files, ``finish`` removes."""

    def __init__(self, store: Store, paths: Paths) -> None:
        self._store = store
        self._paths = paths

    async def footprint(self, handle: str) -> Footprint:
        """What there is of a session in the trash."""
        return await self._store.footprint(handle)

    async def purge(self, handle: str) -> tuple[Purged, Swept]:
        """Delete it. Objects that were put again meanwhile stay."""
        began = time.time()
        purged = await self._store.purge(handle)
        return purged, await asyncio.to_thread(self._sweep, purged, began)

    async def finish(self) -> Swept:
        """Wipe what an earlier purge could not: the database's old pages, and objects that nothing names.

        Objects that were put within a day are spared.
        """
        # Listed before it is asked what is needed: what comes between is new.
        there = await asyncio.to_thread(lambda: [each.digest for f in self._folders() for each in f.all()])
        unnamed = set(there) - await self._store.named_objects()
        removed = await asyncio.to_thread(self._remove, unnamed, SPARED_SECONDS)
        wiped = await asyncio.to_thread(wipe, self._paths.database)
        return Swept(wiped, removed, left=tuple([path async for path in self._strays()]))

    async def _strays(self) -> AsyncIterator[str]:
        """What was set aside for sessions that are not there; an older copy of the database may have them."""
        for path in sorted(self._paths.unsaved.glob("*.md")):
            handle = path.name.partition("-")[0]
            if is_handle(handle):
                try:
                    await self._store.find(handle)
                except UnknownSession:
                    yield str(path)

    def _sweep(self, purged: Purged, began: float) -> Swept:
        left = []
        for path in self._files_of(purged.handle):
            try:
                path.unlink(missing_ok=True)
            except OSError:
                left.append(str(path))
        removed = self._remove(purged.orphans, time.time() - began)
        wiped = wipe(self._paths.database)
        copies = (path for path in self._copies() if holds(path, purged.handle) is not False)
        return Swept(wiped, removed, tuple(map(str, copies)), tuple(left))

    def _files_of(self, handle: str) -> Iterator[Path]:
        assert is_handle(handle)  # it becomes a pattern
        yield from self._paths.locks.glob(f"{handle}.*.lock")
        yield from self._paths.unsaved.glob(f"{handle}-*.md")

    def _copies(self) -> Iterator[Path]:
        """Other databases in the folder: backups, and what was set aside."""
        for folder in (self._paths.backups, self._paths.home):
            yield from sorted(path for path in folder.glob("*.db") if path != self._paths.database)

    def _folders(self) -> tuple[ObjectFolder, ...]:
        return ObjectFolder(self._paths.outputs), ObjectFolder(self._paths.picture_objects)

    def _remove(self, digests: Collection[str], spared: float) -> int:
        removed = 0
        for folder in self._folders():
            for digest in digests:
                with suppress(OSError):
                    removed += folder.remove(digest, spared)
        return removed
