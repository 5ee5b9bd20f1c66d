"""Many processes, each with a store of its own on one file, that are told to do something at one instant.

    with Openers(database, 50) as openers:
        answers = openers.at_once(openers.alive, "hold", handle)

They are forked from one process that has imported the store, so that fifty cost hardly more than one, and
stand in a terminal of their own that their leases name.
"""

from __future__ import annotations

import asyncio
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from local_agent.domain.errors import LocalAgentError, SessionHeld
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import VERSION, talk
from tests.support.processes import session_members

PROJECT = Path(__file__).parents[2]
LIMIT = 60
HEADSTART = 0.05
"""Seconds that a command needs to reach all before the instant."""


class Opener:
    """One of the processes, seen from the test."""

    def __init__(self, line: socket.socket) -> None:
        self._lines = line.makefile("rw", encoding="utf-8")
        self._socket = line
        self.pid = int(self.answer()["pid"])

    def send(self, instant: float, *command: str) -> None:
        self._lines.write(json.dumps([instant, *command]) + "\n")
        self._lines.flush()

    def answer(self) -> dict[str, Any]:
        line = self._lines.readline()
        assert line, "an opener is gone"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def kill(self) -> None:
        """End it by SIGKILL and wait until its files are closed; nobody reaps it, as under a slow parent."""
        os.kill(self.pid, signal.SIGKILL)
        assert select.select([self._socket], [], [], LIMIT)[0] and self._lines.readline() == ""
        self.close()

    def close(self) -> None:
        self._lines.close()
        self._socket.close()


class Openers:
    """The processes that are still alive, and the terminal they stand in."""

    def __init__(self, database: Path, count: int) -> None:
        self._master, slave = pty.openpty()
        self.terminal = os.ttyname(slave)
        pairs = [socket.socketpair() for _ in range(count)]
        theirs = [pair[1].fileno() for pair in pairs]
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(database), *map(str, theirs)],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdin=slave,
            pass_fds=theirs,
            start_new_session=True,
        )
        os.close(slave)
        for ours, other in pairs:
            other.close()
            ours.settimeout(LIMIT)
        self.alive: list[Opener] = []
        try:
            self.alive += (Opener(ours) for ours, _ in pairs)
        except BaseException:
            self.__exit__()
            raise

    def __enter__(self) -> Openers:
        return self

    def __exit__(self, *_: object) -> None:
        for pid in session_members(self.process.pid):
            os.kill(pid, signal.SIGKILL)
        self.process.wait(LIMIT)
        for opener in self.alive:
            opener.close()
        os.close(self._master)

    def at_once(self, openers: Iterable[Opener], *command: str) -> list[tuple[Opener, dict[str, Any]]]:
        """Have a command carried out by several at one instant; who answered what.

        An answer's ``seconds`` run from that instant.
        """
        chosen = list(openers)
        instant = time.monotonic() + HEADSTART
        for opener in chosen:
            opener.send(instant, *command)
        return [(opener, opener.answer()) for opener in chosen]

    def kill(self, opener: Opener) -> None:
        """End one by SIGKILL."""
        self.alive.remove(opener)
        opener.kill()


class _Inside:
    """One of the processes, seen from inside."""

    def __init__(self, database: Path) -> None:
        self._store = Store.open(database, program_version=VERSION)
        self._held: HeldSession | None = None

    async def hold(self, handle: str) -> dict[str, Any]:
        self._held = await self._store.hold(handle)
        return {"generation": self._held.info.holder.generation if self._held.info.holder else 0}

    async def take_over(self, handle: str) -> dict[str, Any]:
        self._held = await self._store.take_over(handle)
        return {}

    async def write(self, title: str) -> dict[str, Any]:
        assert self._held is not None
        await self._held.rename(title)
        return {}

    async def release(self) -> dict[str, Any]:
        assert self._held is not None
        await self._held.release()
        return {}

    async def carry_out(self, instant: float, name: str, *arguments: str) -> dict[str, Any]:
        time.sleep(max(0.0, instant - time.monotonic()))  # noqa: ASYNC251  # all wake at one instant
        try:
            answer: dict[str, Any] = await getattr(self, name)(*arguments)
        except LocalAgentError as error:
            answer = {"error": type(error).__name__, "line": error.line, "hint": error.hint}
            if isinstance(error, SessionHeld):
                answer |= {"pid": error.holder.pid, "terminal": error.holder.terminal}
                answer |= {"since": error.holder.since}
        return {**answer, "seconds": time.monotonic() - instant}


async def _serve(database: Path, line: socket.socket) -> None:
    inside = _Inside(database)
    with line, line.makefile("rw", encoding="utf-8") as lines:
        lines.write(json.dumps({"pid": os.getpid()}) + "\n")
        lines.flush()
        while command := await asyncio.to_thread(lines.readline):
            lines.write(json.dumps(await inside.carry_out(*json.loads(command))) + "\n")
            lines.flush()


async def _warm_up() -> None:
    """What a process does the first time only takes far longer than what is to be seen here."""
    store = Store.in_memory(program_version=VERSION)
    held = await talk(store, "one")
    await held.release()
    await (await store.hold(held.info.handle)).rename("Warm")
    await store.close()


def _main(database: Path, descriptors: list[int]) -> None:
    asyncio.run(_warm_up())
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join()
    for descriptor in descriptors:
        if os.fork() == 0:
            for other in descriptors:
                if other != descriptor:
                    os.close(other)
            asyncio.run(_serve(database, socket.socket(fileno=descriptor)))
            os._exit(0)
    for descriptor in descriptors:
        os.close(descriptor)
    signal.pause()


if __name__ == "__main__":
    _main(Path(sys.argv[1]), [int(number) for number in sys.argv[2:]])
