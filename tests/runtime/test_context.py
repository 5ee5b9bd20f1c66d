"""What a conversation's next request is made of, as it is shown."""

from __future__ import annotations

import json
from pathlib import Path

from local_agent.domain.context import Why
from local_agent.domain.drafts import Prompt
from local_agent.domain.marks import Mark
from local_agent.domain.modes import Mode
from local_agent.domain.sections import Section
from tests.runtime.opened import events_of, opened
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, call

TOOLS = ModelSpec("qwen3:4b", ("completion", "tools"), "qwen3", size=2_000, bytes_per_token=3.0)


async def test_the_sections_are_what_was_sent(home: Path, server: OllamaServer) -> None:
    server.models = {TOOLS.name: TOOLS}
    work = home.parent / "work"
    work.mkdir(parents=True)
    (work / "AGENTS.md").write_text("Always run the tests. " * 20)
    (work / "notes.txt").write_text("A note. " * 100)
    server.script(Turn(call("read", {"path": "notes.txt"})), "It has notes. " * 30, "Good.")
    async with opened(home, server.url, mode=Mode.AUTO) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        empty = await conversation.context()
        assert empty.sections[Section.HISTORY] == 0 and empty.sections[Section.TOOLS] > 500
        await events_of(conversation.ask(Prompt("What is in the notes?")))
        await events_of(conversation.ask(Prompt("Thanks")))
        facts = await conversation.context()
    counted = server.chats[-1].prompt_tokens
    assert facts.counted == counted and facts.window == 16_384
    # What has come since is the last answer.
    assert counted <= facts.used <= counted * 1.05
    assert facts.room == facts.window - facts.used
    assert [turn.entry.text for turn in facts.turns] == ["What is in the notes?", "Thanks"]
    assert facts.sections[Section.RESULTS] > 200 and facts.sections[Section.INSTRUCTIONS] > 100
    assert facts.sections[Section.PINNED] == facts.sections[Section.PICTURES] == 0
    assert facts.factor is not None and 1.1 < facts.factor < 1.5
    assert facts.breaks == ()


async def test_what_was_read_again_has_its_reason(home: Path, server: OllamaServer) -> None:
    server.models = {TOOLS.name: TOOLS}
    work = home.parent / "work"
    work.mkdir(parents=True)
    server.script(*["Answer."] * 4)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("One")))
        (work / "AGENTS.md").write_text("Be kind.")
        await events_of(conversation.ask(Prompt("Two")))
        await events_of(conversation.retry())
        await events_of(conversation.ask(Prompt("Three")))
        breaks = (await conversation.context()).breaks
    assert [each.broken.why for each in breaks] == [Why.INSTRUCTIONS]
    assert breaks[0].tokens > 500 and breaks[0].at.endswith("Z")


async def test_what_the_person_dropped_or_pinned_is_seen_in_the_next_request(
    home: Path, server: OllamaServer
) -> None:
    server.models = {TOOLS.name: TOOLS}
    server.script(*["A long answer. " * 20] * 2, *["Answer."] * 2)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        for text in ("First", "Second"):
            await events_of(conversation.ask(Prompt(text)))
        first, second = (turn.entry.id for turn in (await conversation.context()).turns)
        before = await conversation.context()
        await conversation.time.mark(Mark.DROP, first)
        await conversation.time.mark(Mark.PIN, second)
        facts = await conversation.context()
        assert [(turn.mark, turn.tokens > 0) for turn in facts.turns] == [
            (Mark.DROP, False),
            (Mark.PIN, True),
        ]
        assert facts.used < before.used and facts.sections[Section.PINNED] == facts.turns[1].tokens
        await events_of(conversation.ask(Prompt("Third")))
        [broken] = (await conversation.context()).breaks
    sent = [str(message["content"]) for message in json.loads(server.chats[-1].raw)["messages"]]
    assert not any("First" in text for text in sent) and "Second" in sent[1]
    # What was told with the first question alone is told again.
    assert sent[1].startswith("Second") or "Date: " in sent[-1]
    assert broken.broken.why is Why.MARKS


async def test_what_leaves_next_is_what_a_summary_would_stand_for(home: Path, server: OllamaServer) -> None:
    server.models = {TOOLS.name: TOOLS}
    server.script(*[" ".join(f"{number}.{word}" for word in range(900)) for number in range(4)])
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        for text in ("One", "Two", "Three", "Four"):
            await events_of(conversation.ask(Prompt(text)))
        facts = await conversation.context()
        first = facts.turns[0].entry.id
        assert first in facts.leaving and facts.turns[-1].entry.id not in facts.leaving
        await conversation.time.mark(Mark.PIN, first)
        assert first not in (await conversation.context()).leaving
    assert facts.compacts_at == facts.window * 3 // 4
