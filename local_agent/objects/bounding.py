"""Holds a folder of objects under a size: what was put longest ago goes first."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from threading import Lock
from typing import NamedTuple

from local_agent.domain.errors import LocalAgentError
from local_agent.objects.store import ObjectFolder, StoredObject

SPARED_SECONDS = 3_600.0
"""What was put so recently stays, whatever the size: it may be about to be needed."""
EVERY_SECONDS = 60.0
"""How long at least after a look the next one comes."""
_REMOVING_SECONDS = 1.0
"""How long one look removes; the rest goes with the next."""
_GOAL = 0.9
"""Of the bound, down to which is removed: each look has to list everything."""


class Dropped(NamedTuple):
    """What was removed."""

    objects: int = 0
    size: int = 0
    """Bytes."""


class Bounding:
    """One folder's bound in bytes. Other processes may put and remove there at the same time.

    Everything is listed once, and then only when what was put here since may have gone over the bound.
    """

    def __init__(self, objects: ObjectFolder, most: int) -> None:
        self.most = most
        self._objects = objects
        self._room: int | None = None
        """Bytes that may still be put, counted from when the folder had written ``_written``."""
        self._written = 0
        self._next = 0.0
        self._looking = Lock()

    @property
    def due(self) -> bool:
        """Whether ``look`` would list everything. Costs nothing."""
        return self._needed and not self._looking.locked()

    @property
    def _needed(self) -> bool:
        if self._room is None:
            return True
        return self._objects.written - self._written > self._room and time.monotonic() >= self._next

    def look(self) -> Dropped:
        """Remove what is too much. Blocks for a second or two; only the first of several threads does it."""
        if not self._looking.acquire(blocking=False):
            return Dropped()
        try:
            if not self._needed:
                return Dropped()
            self._written = self._objects.written
            there = list(self._objects.all())
            size = sum(each.size for each in there)
            dropped = self._drop(there, size - int(self.most * _GOAL)) if size > self.most else Dropped()
            self._room = self.most - size + dropped.size
            self._next = time.monotonic() + EVERY_SECONDS
            return dropped
        finally:
            self._looking.release()

    def _drop(self, there: Sequence[StoredObject], too_much: int) -> Dropped:
        """Remove the oldest; one that is renewed meanwhile stays, and whatever can't be removed."""
        count = size = gone = 0
        until = time.monotonic() + _REMOVING_SECONDS
        for each in sorted(there, key=lambda each: each.put_at):
            recent = time.time() - each.put_at < SPARED_SECONDS
            if size + gone >= too_much or recent or time.monotonic() > until:
                break
            with suppress(LocalAgentError):
                if self._objects.remove(each.digest, SPARED_SECONDS):
                    count += 1
                    size += each.size
                elif not self._objects.has(each.digest):  # another process is at it
                    gone += each.size
        return Dropped(count, size)
