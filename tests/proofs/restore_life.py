"""Processes that put the files of a session back until they are killed, forked from one that has all loaded.

A line on standard input is a JSON object: what to do (``step``, ``complete``, ``take_back``), after how many
finished paths to kill, and how many seconds later. The answer says how many there were, and what it died of.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from local_agent.config.launch import LaunchOptions
from local_agent.config.load import load_without_files
from local_agent.config.paths import Paths
from local_agent.domain.errors import UsageError
from local_agent.domain.moves import Scope
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime

ROOT = Path(__file__).parents[2]


class Forker:
    """The process that forks them, seen from outside."""

    def __init__(self, home: Path, work: Path, handle: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.proofs.restore_life", str(home), str(work), handle],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def kill(self, what: str, after: int, delay: float) -> dict[str, Any]:
        """Let one begin, and kill it then; ``paths`` it has finished, ``status`` as ``waitpid`` gives it."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps({"what": what, "after": after, "delay": delay}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        assert answer["status"] in (0, signal.SIGKILL), answer
        return answer

    def close(self) -> None:
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()


async def opened(home: Path, work: Path) -> Runtime:
    """The runtime of one process."""
    paths = Paths(home=home, cache=home.parent / "cache")
    return await Runtime.open(LaunchOptions(workspace=work), load_without_files({}).settings, paths)


async def step(conversation: Conversation, tell: int) -> None:
    """Undo the newest turn with its files, or do it again where that was done."""
    try:
        journey = await conversation.time.redo()
    except UsageError:
        journey = await conversation.time.undo()
    os.write(tell, b".")
    await conversation.time.go(journey, Scope.BOTH, lambda done, total: os.write(tell, b"."))


async def _live(home: Path, work: Path, handle: str, what: str, tell: int) -> None:
    runtime = await opened(home, work)
    conversation = await runtime.resume(handle)
    if what == "step":
        await step(conversation, tell)
    else:
        unfinished = await conversation.time.unfinished()
        assert unfinished is not None
        os.write(tell, b".")
        settle = {"complete": conversation.time.complete, "take_back": conversation.time.take_back}[what]
        await settle(unfinished)
    await conversation.close()
    await runtime.close()


async def _load(home: Path, work: Path, handle: str) -> None:
    """Have all imported that a life needs."""
    runtime = await opened(home, work)
    conversation = await runtime.resume(handle)
    await conversation.time.undo()
    await conversation.close()
    await runtime.close()


def _fork(home: Path, work: Path, handle: str, what: str, after: int, delay: float) -> dict[str, int]:
    hear, tell = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(hear)
            asyncio.run(_live(home, work, handle, what, tell))
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(tell)
    heard = 0
    while heard <= after and (some := os.read(hear, after + 1 - heard)):
        heard += len(some)
    time.sleep(delay)
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    while some := os.read(hear, 4096):
        heard += len(some)
    os.close(hear)
    return {"paths": heard - 1, "status": status}


if __name__ == "__main__":
    where = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    asyncio.run(_load(*where))
    for line in sys.stdin:
        order = json.loads(line)
        sys.stdout.write(json.dumps(_fork(*where, order["what"], order["after"], order["delay"])) + "\n")
        sys.stdout.flush()
