"""How many requests of a session do not begin with all of the request before: a server reads those anew."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from local_agent.domain.drafts import Prompt
from local_agent.domain.events import TextDelta
from local_agent.runtime.conversation import Conversation
from tests.benchmarks.report import Row
from tests.runtime.opened import events_of, opened
from tests.support.ollama_server import (
    HostedServer,
    OllamaServer,
    RequestRecord,
    Turn,
    call,
    end,
    error,
    gate,
    say,
)

UNANSWERED = "What got no answer?"
"""Its turn fails before a word: the one case in which the next request leaves something out."""
_KEY = '"messages":'
_DECODER = json.JSONDecoder()


def measure() -> Iterator[Row]:
    """One session with turns that are stopped, left, cut off, refused, and taken up by another process."""
    with tempfile.TemporaryDirectory() as folder, HostedServer() as server:
        asyncio.run(_talk(Path(folder).resolve() / "home", server))
        pairs = list(pairwise(server.chats))
    other = [place for place, (earlier, later) in enumerate(pairs, 2) if not _begins_with(later, earlier)]
    detail = f"{len(pairs)} that follow another, places of those that do not: {other or 'none'}"
    share = len(other) / len(pairs) * 100
    yield Row("requests that do not begin with all of the one before", share, 0, "%", detail, "counted")


async def _talk(home: Path, server: OllamaServer) -> None:
    server.script(
        "A plant with a trunk.",
        Turn(say("There are very many "), gate("stopped"), say("of them.")),
        "An oak, **for example**.",
        Turn(say("I look. "), call("ls", {"path": "."}), call("glob", {"pattern": "*.py"})),
        "There is none here.",
        Turn(say("It lives for "), gate("left"), say("centuries.")),
        "Because of its wood.",
        Turn(say("Some say that it "), end("abort")),
        'Yes: ünïcode, "quotes" and a\ttab.',
        Turn(error("out of memory")),
        "An ash.",
        "That was all.",
    )
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("What is a tree?")))
        await _stopped(conversation, "How many are there?")
        server.release("stopped")
        await events_of(conversation.ask(Prompt("Name one.")))
        await events_of(conversation.ask(Prompt("Is one in this folder?")))
        await _left(conversation, "How old is it?")
        server.release("left")
        handle = conversation.handle
    async with opened(home, server.url) as runtime:
        conversation = await runtime.resume(handle)
        for question in ("Why?", "Do people like it?", "Really?", UNANSWERED, "Name another."):
            await events_of(conversation.ask(Prompt(question)))
    async with opened(home, server.url) as runtime:
        await events_of((await runtime.resume(handle)).ask(Prompt("Is that all?")))


async def _stopped(conversation: Conversation, question: str) -> None:
    """Ask, and stop the reply at its first words."""
    async for event in conversation.ask(Prompt(question)):
        if isinstance(event, TextDelta):
            conversation.stop()


async def _left(conversation: Conversation, question: str) -> None:
    """Ask, and go away at the first words."""
    events = conversation.ask(Prompt(question))
    async for event in events:
        if isinstance(event, TextDelta):
            break
    await events.aclose()


def _begins_with(later: RequestRecord, earlier: RequestRecord) -> bool:
    """Byte for byte, and with nothing else about the request changed."""
    before = _messages(earlier)
    if UNANSWERED in before[-1]:
        before = before[:-1]
    same = {**earlier.body, "messages": None} == {**later.body, "messages": None}
    return same and _messages(later)[: len(before)] == before


def _messages(request: RequestRecord) -> list[str]:
    """Each message as it went over the wire."""
    text = request.raw[request.raw.index(_KEY) + len(_KEY) :]
    found = []
    while (text := text.lstrip(" [,"))[0] != "]":
        _, size = _DECODER.raw_decode(text)
        found.append(text[:size])
        text = text[size:]
    assert [json.loads(message) for message in found] == request.body["messages"]
    return found
