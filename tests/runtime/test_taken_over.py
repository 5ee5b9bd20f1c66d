"""A session that another process takes over while its files are put back: only one of them goes on."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from local_agent.domain.errors import LeaseLost
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from tests.runtime.opened import opened
from tests.runtime.travelling import Worker
from tests.support.ollama_server import OllamaServer

FILES = 60


class Slow(asyncio.Event):
    """Is asked before each file, in the thread that puts them back."""

    def is_set(self) -> bool:
        time.sleep(0.05)
        return super().is_set()


@pytest.mark.parametrize("settle", ["complete", "take_back"])
async def test_who_lost_the_session_puts_no_further_file_back(
    home: Path, server: OllamaServer, settle: str
) -> None:
    async with opened(home, server.url, mode=Mode.AUTO, skip_approvals=True) as runtime:
        conversation, work = runtime.new_conversation(), home.parent / "work"
        names = [f"{number}.txt" for number in range(FILES)]
        for name in names:
            (work / name).write_text("one\n")
        worker = Worker(conversation, server, work)
        await worker.turn(("bash", {"command": "for file in *.txt; do echo two > $file; done"}))
        begun = asyncio.Event()
        journey = await conversation.time.undo()
        going = asyncio.create_task(
            conversation.time.go(journey, Scope.BOTH, lambda done, total: begun.set(), Slow())
        )
        await begun.wait()
        async with opened(home, server.url, mode=Mode.AUTO) as elsewhere:
            assert conversation.info is not None
            other = await elsewhere.take_over(conversation.info.handle)
            with pytest.raises(LeaseLost):
                await going
            unfinished = await other.time.unfinished()
            assert unfinished is not None and unfinished.done and unfinished.left
            ways = {"complete": other.time.complete, "take_back": other.time.take_back}
            await ways[settle](unfinished)
            wanted = "one\n" if settle == "complete" else "two\n"
            assert {(work / name).read_text() for name in names} == {wanted}
            assert await other.time.unfinished() is None
            await other.close()
