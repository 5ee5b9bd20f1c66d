"""A session whose process died by SIGKILL while its calls ran, or that still holds them.

    handle, ids = cut_off(home, workspace, [started("write", {"path": "a"}, expected=..., intended=...)])

Run as a program it writes what standard input describes, prints handle and ids, and waits for a line.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from local_agent.domain.entries import EntryStatus, ToolCall, TurnStatus, Usage
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.ports import Opening, Outcome, Reply
from local_agent.domain.sessions import NewSession
from local_agent.domain.tools import Effect, FileChange
from local_agent.store.store import Store

PROJECT = Path(__file__).parents[2]
MODEL = "llama3.2:3b"
Call = dict[str, Any]


def started(tool: str, arguments: dict[str, object], *, effect: str = "effectful", **facts: object) -> Call:
    """A call that began, with the facts of its start."""
    return {"tool": tool, "arguments": arguments, "effect": effect, "facts": facts}


def completed(tool: str, arguments: dict[str, object], text: str, *changes: tuple[str, ...]) -> Call:
    """A call that ended; ``changes`` are path, kind, digest before and after."""
    return {**started(tool, arguments), "text": text, "changes": changes}


@contextmanager
def working(
    home: Path, workspace: Path, calls: Sequence[Call], question: str = "Do it"
) -> Iterator[tuple[str, list[str], subprocess.Popen[str]]]:
    """The session's handle, its calls' ids, and the process that holds it until the end."""
    script = {"home": str(home), "workspace": str(workspace), "calls": list(calls), "question": question}
    with subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=PROJECT,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(script) + "\n")
        process.stdin.flush()
        try:
            answer = json.loads(process.stdout.readline())
            yield answer["handle"], answer["ids"], process
        finally:
            process.kill()
            process.wait()


def cut_off(
    home: Path, workspace: Path, calls: Sequence[Call], question: str = "Do it"
) -> tuple[str, list[str]]:
    """The same after its process was killed."""
    with working(home, workspace, calls, question) as (handle, ids, _):
        return handle, ids


async def _write(script: dict[str, Any]) -> None:
    store = Store.open(Path(script["home"]) / "local-agent.db", program_version="0.1.0")
    new = NewSession(script["workspace"], script["question"], "ollama", "http://127.0.0.1:1", MODEL)
    held, turn = await store.create(new, Opening(script["question"], None, MODEL))
    calls = script["calls"]
    wanted = [ToolCall(f"c{number}", each["tool"], each["arguments"]) for number, each in enumerate(calls)]
    ids = []
    if calls:
        reply = Reply("Let me see.", calls=tuple(wanted))
        _, found = await held.record(turn, reply, [Effect(each["effect"]) for each in calls])
        for call, each in zip(calls, found, strict=True):
            begun = await held.start(each, call["facts"])
            ids.append(each.id)
            if "text" in call:
                changes = [FileChange(*change) for change in call["changes"]]
                receipt = Receipt("ok", "done", excerpt=call["text"][:2000])
                await held.finish(begun, EventKind.COMPLETED, receipt, call["text"], changes)
    if all("text" in call for call in calls):
        done = Outcome(TurnStatus.SETTLED, EntryStatus.SETTLED, "stop", Reply("Done."), Usage())
        await held.settle(turn, done)
    sys.stdout.write(json.dumps({"handle": held.info.handle, "ids": ids}) + "\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.readline)


if __name__ == "__main__":
    asyncio.run(_write(json.loads(sys.stdin.readline())))
