"""Compaction in the real runtime: when it happens, what is sent, what stays, what takes it back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from local_agent.config.settings import Settings
from local_agent.domain.checkpoints import CheckpointKind
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry, Kind, TurnStatus
from local_agent.domain.errors import UsageError
from local_agent.domain.events import (
    Compacted,
    CompactionFailed,
    Event,
    Phase,
    PhaseChanged,
    TurnEnded,
    TurnStarted,
)
from local_agent.domain.marks import Mark
from local_agent.domain.moves import Scope
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.ollama_server import (
    ModelSpec,
    OllamaServer,
    Turn,
    When,
    call,
    done,
    gate,
    http,
    say,
    think,
)

PLAIN = ModelSpec("tiny:1b", ("completion",), size=2_000)
WINDOW = 2048
LONG = " ".join(f"{number} fills it." for number in range(1000, 1075))
"""About 330 tokens as we count, and 300 as the server does."""
ASKS_FOR_SUMMARY = When(contains="Summarise")


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {PLAIN.name: PLAIN}


def narrow(url: str, window: int = WINDOW) -> Settings:
    settings = settings_for(url)
    return replace(settings, ollama=replace(settings.ollama, num_ctx=window))


@asynccontextmanager
async def talking(
    home: Path, server: OllamaServer, turns: int, window: int = WINDOW
) -> AsyncIterator[tuple[Runtime, Conversation]]:
    """A conversation of so many turns of about 240 tokens, none of which was compacted."""
    async with opened(home, "", settings=narrow(server.url, window), model="tiny:1b") as runtime:
        conversation = runtime.new_conversation()
        for number in range(1, turns + 1):
            server.script(f"Answer {number}. {LONG}")
            await events_of(conversation.ask(Prompt(f"Question {number}?")))
        yield runtime, conversation


async def ask(conversation: Conversation, text: str) -> list[Event]:
    return await events_of(conversation.ask(Prompt(text)))


def one(events: Sequence[Event], kind: type[Any]) -> Any:
    found = [event for event in events if isinstance(event, kind)]
    assert len(found) == 1, events
    return found[0]


def sent(server: OllamaServer, place: int = -1) -> str:
    """The text of all messages of a request."""
    return "\n".join(message["content"] for message in server.chats[place].body["messages"])  # type: ignore[attr-defined]  # a list


async def test_a_question_that_would_pass_three_quarters_is_asked_behind_a_summary(
    home: Path, server: OllamaServer
) -> None:
    async with talking(home, server, 5) as (_, conversation):
        before = list(server.chats)
        server.script(Turn("We spoke of 1 to 4.", when=ASKS_FOR_SUMMARY), "Six.")
        events = await ask(conversation, "Question 6?")
        compacted: Compacted = one(events, Compacted)
        assert isinstance(events[0], PhaseChanged) and events[0].phase is Phase.COMPACTING
        assert events.index(compacted) < events.index(one(events, TurnStarted))
        assert one(events, TurnStarted).question.parent == compacted.summary.id
        assert [e.text[:10] for e in compacted.left if e.kind is Kind.QUESTION][0] == "Question 1"
        assert compacted.tokens_after < 0.6 * WINDOW < compacted.tokens_before
        asking, asked = server.chats[-2:]
        # The server has read all of it but the last reply and the wish.
        last = before[-1].body["messages"]
        assert asking.body["messages"][: len(last)] == last
        assert asking.body["options"]["num_predict"] == WINDOW // 8
        assert {**asking.body["options"], "num_predict": 0} == {**asked.body["options"], "num_predict": 0}
        text = sent(server)
        assert "We spoke of 1 to 4." in text and "Question 1?" not in text
        assert "Question 5?" in text and "Date: " in text.split("Question 6?")[0].split("Question 5?")[1]
        checkpoints = await conversation.time.checkpoints()
        assert [each.kind for each in checkpoints] == [CheckpointKind.BEFORE_COMPACTION]
        assert not any(chat.reloaded or chat.dropped for chat in server.chats)
