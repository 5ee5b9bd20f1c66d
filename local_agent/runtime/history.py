"""What files held and commands said, kept in one folder under a bound; what had to go is told."""

from __future__ import annotations

import asyncio
from collections import deque
from pathlib import Path
from threading import Thread

from local_agent.objects.bounding import Bounding, Dropped
from local_agent.objects.reading import megabytes
from local_agent.objects.store import ObjectFolder, Objects, ObjectsInMemory

_IN_MEMORY = 256 * 1024 * 1024
"""Bytes, at most, of a run that leaves nothing on disk."""


class History:
    """The contents and outputs of all conversations of a process."""

    def __init__(self, folder: Path | None, most_mib: int) -> None:
        """Without a ``folder`` nothing is left on disk."""
        most = most_mib * 1024 * 1024
        self.keeps_contents = most_mib > 0
        self.objects: Objects
        self._dropped: deque[Dropped] = deque()
        self._bounding: Bounding | None = None
        if folder is None:
            self.objects = ObjectsInMemory(min(most, _IN_MEMORY) or _IN_MEMORY)
            return
        objects = self.objects = ObjectFolder(folder, self._look_when_due)
        self._bounding = Bounding(objects, most)

    def news(self) -> tuple[str, ...]:
        """One line about what was dropped since this was last asked; none where nothing was.

        Once it was asked, and after each put, it is looked in the background whether there is too much.
        """
        count = size = 0
        while self._dropped:
            one = self._dropped.popleft()
            count, size = count + one.objects, size + one.size
        self._look_when_due()
        if self._bounding is None or not count:
            return ()
        return (
            f"Earlier contents of files and outputs of commands were dropped to stay under "
            f"{_mebibytes(self._bounding)}: {_objects(count)}, {megabytes(size)}. "
            "What needs them can't be put back.",
        )

    async def describe(self) -> str:
        """How much is kept, and the bound; nothing of what is in memory alone."""
        if self._bounding is None:
            return ""
        sizes = await asyncio.to_thread(lambda: [each.size for each in self.objects.all()])
        return f"{_objects(len(sizes))}, {megabytes(sum(sizes))}, at most {_mebibytes(self._bounding)}"

    def _look_when_due(self) -> None:
        """Begin to look at the bound, for which nobody waits; in the thread of whoever put something."""
        if self._bounding is not None and self._bounding.due:
            # It ends with the process: what it leaves half done is a file that the next look removes.
            Thread(target=self._look, args=(self._bounding,), name="bounding", daemon=True).start()

    def _look(self, bounding: Bounding) -> None:
        dropped = bounding.look()
        if dropped.objects:
            self._dropped.append(dropped)


def _objects(count: int) -> str:
    return "1 object" if count == 1 else f"{count:,} objects"


def _mebibytes(bounding: Bounding) -> str:
    return f"{bounding.most // 1024**2:,} MiB"
