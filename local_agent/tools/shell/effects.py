"""What a command did to the files of the workspace: a look before it, a look after it, and the difference.

Not seen is what is ignored (``.gitignore``, ``.agentignore``), what looks like a secret, version control, and
what lies outside the workspace or on another file system in it. What somebody else changes while the command
runs counts as its own.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from local_agent.tools.folder import Folder
from local_agent.tools.shell.contents import Contents
from local_agent.tools.shell.snapshot import Look, NotScanned, look
from local_agent.tools.shell.traces import Traces, traces
from local_agent.workspace.walk import TICK

T = TypeVar("T")

SECONDS = 1.0
"""For a look."""
LEARN_SECONDS = 0.15
"""That a command waits at most for contents to be read; the rest is read while it runs."""
WHILE_RUNNING_SECONDS = 3.0
HASTY_SECONDS = 0.4
"""For the look after a stop."""
REST_SECONDS = 30.0
"""After a look that took too long, until the next one."""


class Effects:
    """Looks before and after the commands of one conversation; each remembers what the last ones saw."""

    def __init__(self) -> None:
        self._contents = Contents()
        self._last: Look | None = None
        self._resting = 0.0
        self._tired = ""

    async def watch(self, folder: Folder, stop: asyncio.Event) -> Watch:
        """Look before a command. A stop ends it early; the command is then not to be run."""
        if time.monotonic() < self._resting:
            return Watch(folder, self._contents, None, f"not scanned: {self._tired}")
        ended = threading.Event()
        try:
            found = await _in_thread(lambda: self._before(folder, ended), ended, stop)
        except NotScanned as reason:
            if not stop.is_set():
                self._resting, self._tired = time.monotonic() + REST_SECONDS, str(reason)
            return Watch(folder, self._contents, None, f"not scanned: {reason}")
        self._last = found
        # What changes within one tick of the disk's clock after another change would not show.
        newest = max((seen.changed for seen in found.paths.values()), default=0)
        if (wait := newest + TICK - time.time_ns()) > 0:
            await asyncio.sleep(min(wait, TICK) / 1e9)
        return Watch(folder, self._contents, found)

    def _before(self, folder: Folder, ended: threading.Event) -> Look:
        begun = time.monotonic()
        found = look(folder.root, begun + SECONDS, ended, self._last)
        self._contents.begin()
        self._contents.learn(folder, found, time.monotonic() + LEARN_SECONDS, ended)
        return found


class Watch:
    """One command's: ``began`` when it begins, ``over`` when it has ended, ``close`` in any case."""

    def __init__(self, folder: Folder, contents: Contents, before: Look | None, reason: str = "") -> None:
        self._folder = folder
        self._contents = contents
        self._before = before
        self._reason = reason
        self._ended = threading.Event()
        self._learning: asyncio.Task[None] | None = None

    def began(self) -> None:
        """Read on while the command runs: a file that it has not touched yet holds still what it held."""
        if self._before is not None:
            until = time.monotonic() + WHILE_RUNNING_SECONDS
            learn = self._contents.learn
            self._learning = asyncio.create_task(
                asyncio.to_thread(learn, self._folder, self._before, until, self._ended, 0)
            )

    async def over(self, stop: asyncio.Event) -> Traces:
        """Look again. After a stop that is done in haste; one that comes meanwhile ends it."""
        await self.close()
        if self._before is None:
            return Traces(unscanned=self._reason)
        before, ended = self._before, threading.Event()
        hasty = stop.is_set()
        until = time.monotonic() + (HASTY_SECONDS if hasty else SECONDS)
        try:
            return await _in_thread(
                lambda: traces(self._folder, self._contents, before, until, ended),
                ended,
                None if hasty else stop,
            )
        except NotScanned as reason:
            return Traces(unscanned=f"not scanned: {reason}")

    async def close(self) -> None:
        """Read no further."""
        self._ended.set()
        if self._learning is not None:
            await asyncio.wait((self._learning,))


async def _in_thread(work: Callable[[], T], ended: threading.Event, stop: asyncio.Event | None) -> T:
    """Run what heeds ``ended``, which a stop sets; nobody goes on before it has come to its end.

    Raises ``NotScanned``, also for what the disk refuses: a command must not fail by that.
    """
    working = asyncio.create_task(asyncio.to_thread(work))
    stopping = asyncio.create_task((stop or asyncio.Event()).wait())
    try:
        await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
    finally:
        ended.set()
        stopping.cancel()
        await asyncio.wait((working,))
    try:
        return working.result()
    except OSError as error:
        raise NotScanned(f"the disk says: {error.strerror or type(error).__name__}") from error
