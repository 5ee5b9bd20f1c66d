"""A second process with a store of its own on the same file, driven one command at a time.

    with OtherProcess(database) as other:
        handle = other.tell("create", "What is a tree?")["handle"]
        other.process.kill()

Every answer is an object; a failure is ``{"error": "SessionHeld", "line": "..."}``.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from local_agent.domain.drafts import Draft
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.ports import OpenTurn, Reply
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from tests.store.samples import EFFECTS, ROOT, VERSION, WANTED, new_session, opening, settled

PROJECT = Path(__file__).parents[2]
LIMIT = 30


class OtherProcess:
    """The process, seen from the test."""

    def __init__(self, database: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(database)],
            cwd=PROJECT,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> OtherProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait(LIMIT)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def tell(self, *command: str) -> dict[str, Any]:
        """Have one command carried out and return its answer."""
        self.send(*command)
        return self.answer()

    def send(self, *command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command) + "\n")
        self.process.stdin.flush()

    def answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the other process is gone"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def die(self) -> None:
        """Kill it and wait until the system has taken back what it held."""
        self.process.kill()
        self.process.wait(LIMIT)


class _Commands:
    """The process, seen from inside."""

    def __init__(self, database: Path) -> None:
        self._store = Store.open(database, program_version=VERSION)
        self._held: HeldSession | None = None
        self._turn: OpenTurn | None = None
        self._calls: list[Execution] = []

    async def create(self, question: str, root: str = ROOT) -> dict[str, Any]:
        self._held, self._turn = await self._store.create(new_session(root=root), opening(question))
        return {"handle": self._held.info.handle, "id": self._held.info.id}

    async def begin(self, question: str) -> dict[str, Any]:
        assert self._held is not None
        self._turn = await self._held.begin(opening(question, self._held.info.head))
        return {}

    async def hold(self, handle: str) -> dict[str, Any]:
        self._held = await self._store.hold(handle)
        return {"head": self._held.info.head}

    async def take_over(self, handle: str) -> dict[str, Any]:
        self._held = await self._store.take_over(handle)
        return {"head": self._held.info.head}

    async def keep(self, text: str) -> dict[str, Any]:
        assert self._held is not None and self._turn is not None
        await self._held.keep(self._turn, Reply(text))
        return {}

    async def settle(self, text: str) -> dict[str, Any]:
        assert self._held is not None and self._turn is not None
        await self._held.settle(self._turn, settled(text))
        return {}

    async def start_calls(self) -> dict[str, Any]:
        assert self._held is not None and self._turn is not None
        _, calls = await self._held.record(self._turn, WANTED, EFFECTS)
        self._calls = [await self._held.start(each, {}) for each in calls]
        return {}

    async def finish_calls(self) -> dict[str, Any]:
        assert self._held is not None
        for each in self._calls:
            await self._held.finish(each, EventKind.COMPLETED, Receipt("ok"), "done", ())
        return {}

    async def rename(self, title: str) -> dict[str, Any]:
        assert self._held is not None
        await self._held.rename(title)
        return {}

    async def release(self) -> dict[str, Any]:
        assert self._held is not None
        await self._held.release()
        return {}

    async def draft(self, text: str, session_id: str = "") -> dict[str, Any]:
        await self._store.save_draft(ROOT, int(session_id) if session_id else None, Draft(text))
        return {}

    async def take_draft(self) -> dict[str, Any]:
        draft = await self._store.take_draft(ROOT, None)
        return {"text": draft.text if draft is not None else None}

    async def carry_out(self, name: str, *arguments: str) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = await getattr(self, name)(*arguments)
        except LocalAgentError as error:
            return {"error": type(error).__name__, "line": error.line}
        return answer


async def _serve(database: Path) -> None:
    commands = _Commands(database)
    while line := await asyncio.to_thread(sys.stdin.readline):
        answer = await commands.carry_out(*json.loads(line))
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(_serve(Path(sys.argv[1])))
