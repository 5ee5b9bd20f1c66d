"""The person's wish for an end, and waiting that heeds it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


class Stopped(Exception):
    """The person stopped the turn."""


class Stop:
    """Set once, and for good, when an end is wanted."""

    def __init__(self, event: asyncio.Event | None = None) -> None:
        self.event = event or asyncio.Event()

    @property
    def wanted(self) -> bool:
        """Whether it was set."""
        return self.event.is_set()

    def want(self) -> None:
        """Ask for the end."""
        self.event.set()

    def heed(self) -> None:
        """Raise ``Stopped`` once an end is wanted."""
        if self.wanted:
            raise Stopped

    async def first_of(self, tasks: Iterable[asyncio.Task[T]]) -> set[asyncio.Task[T]]:
        """Wait for the first of the tasks, or for a stop; returns those that are done."""
        mine = set(tasks)
        stopping = asyncio.create_task(self.event.wait())
        waited: set[asyncio.Task[Any]] = {stopping, *mine}
        try:
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return {task for task in mine if task.done()}

    async def unless(self, work: Coroutine[Any, Any, T]) -> T:
        """What ``work`` comes to. A stop cancels it and raises ``Stopped``."""
        task = asyncio.create_task(work)
        try:
            await self.first_of({task})
            if not task.done():
                raise Stopped
            return task.result()
        finally:
            task.cancel()
