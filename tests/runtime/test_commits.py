"""A slow disk is waited for once at most between what a person does and what they see of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.events import Event, TurnStarted
from tests.runtime.opened import events_of, opened, paths_in
from tests.support.ollama_server import OllamaServer
from tests.support.sql_meter import metered


async def test_each_step_waits_for_one_commit_at_most(home: Path, server: OllamaServer) -> None:
    server.script("First.", "Second.", "Third.")
    with metered(paths_in(home).database) as meter:
        async with opened(home, server.url) as runtime:
            conversation = runtime.new_conversation()
            await conversation.prepare()
            for _ in range(2):
                asking = conversation.ask(Prompt("What is a tree?"))
                sent = await meter.cost(_started(asking))
                settled = await meter.cost(events_of(asking))
                assert (sent.commits, settled.commits) == (1, 1)
            assert (await meter.cost(conversation.rename("Trees"))).commits == 1
            await conversation.close()
            resumed = []

            async def resume() -> None:
                resumed.append(await runtime.resume(conversation.handle))
                assert (await resumed[0].tail()).entries

            assert (await meter.cost(resume())).commits == 1
            assert (await meter.cost(runtime.library.fork(conversation.handle))).commits == 1
            await events_of(resumed[0].ask(Prompt("And now?")))


async def _started(events: AsyncGenerator[Event, None]) -> None:
    async for event in events:
        if isinstance(event, TurnStarted):
            return
