"""Compaction in the real runtime: when it happens, what is sent, what stays, what takes it back."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from local_agent.config.settings import Settings
from local_agent.domain.checkpoints import CheckpointKind
from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Kind, TurnStatus
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
    RequestRecord,
    Turn,
    When,
    call,
    done,
    gate,
    http,
    say,
    think,
    wait_until,
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


def messages(chat: RequestRecord) -> list[dict[str, Any]]:
    found: Any = chat.body["messages"]
    return list(found)


def options(chat: RequestRecord) -> dict[str, Any]:
    found: Any = chat.body["options"]
    return dict(found)


def sent(server: OllamaServer, place: int = -1) -> str:
    """The text of all messages of a request."""
    return "\n".join(message["content"] for message in messages(server.chats[place]))


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
        assert next(e.text for e in compacted.left if e.kind is Kind.QUESTION) == "Question 1?"
        assert compacted.tokens_after < 0.6 * WINDOW < compacted.tokens_before
        asking, asked = server.chats[-2:]
        # The server has read all of it but the last reply and the wish.
        last = messages(before[-1])
        assert messages(asking)[: len(last)] == last
        assert options(asking)["num_predict"] == WINDOW // 8
        assert {**options(asking), "num_predict": 0} == {**options(asked), "num_predict": 0}
        text = sent(server)
        assert "We spoke of 1 to 4." in text and "Question 1?" not in text
        assert "Question 5?" in text and "Date: " in text.split("Question 6?")[0].split("Question 5?")[1]
        checkpoints = await conversation.time.checkpoints()
        assert [each.kind for each in checkpoints] == [CheckpointKind.BEFORE_COMPACTION]
        assert not any(chat.reloaded or chat.dropped for chat in server.chats)


async def test_undo_brings_back_the_request_byte_for_byte(home: Path, server: OllamaServer) -> None:
    async with talking(home, server, 5, window=8192) as (_, conversation):
        server.script("Six.", Turn("Of 1 to 5.", when=ASKS_FOR_SUMMARY), "Six.")
        await ask(conversation, "Question 6?")
        plain = server.chats[-1]
        await undone(conversation)
        compacted: Compacted = one(await events_of(conversation.compact()), Compacted)
        assert conversation.used_tokens == compacted.tokens_after
        before = await conversation.tail(100)
        assert len(before.entries) == 11, "nothing of the path is lost"
        await undone(conversation)
        await ask(conversation, "Question 6?")
        assert server.chats[-1].raw == plain.raw
        with pytest.raises(UsageError):
            await conversation.time.redo()


async def undone(conversation: Conversation) -> None:
    await conversation.time.go(await conversation.time.undo(), Scope.CONVERSATION)


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        (Turn(say(""), done()), "empty"),
        (Turn(think("Hm, what to say."), done()), "thinking"),
        (Turn(say("They began"), done("length")), "cut off"),
        (Turn(say(" ".join(map(str, range(5000, 7000)))), done()), "longer"),
        (Turn(say("round and round we go, " * 60), done()), "repeat"),
        (Turn(http(400, {"error": "the input length exceeds the context length"})), "fit"),
    ],
    ids=("empty", "thinking", "cut", "long", "circles", "overflow"),
)
async def test_a_summary_of_no_use_gives_way_to_one_that_the_program_puts_together(
    home: Path, server: OllamaServer, reply: Turn, why: str
) -> None:
    async with talking(home, server, 5) as (_, conversation):
        attempts = 2 if why == "fit" else 1
        server.script(*(Turn(*reply.steps, when=ASKS_FOR_SUMMARY) for _ in range(attempts)), "Six.")
        events = await ask(conversation, "Question 6?")
        compacted: Compacted = one(events, Compacted)
        assert compacted.mechanical
        first, *rest = compacted.summary.text.splitlines()
        assert first == "Put together by the program, because the model's summary was of no use:"
        assert "- Question 1?" in rest and "The last answer began:" in rest
        assert compacted.tokens_after < compacted.tokens_before
        assert one(events, TurnEnded).status is TurnStatus.SETTLED
        assert "Put together by the program" in sent(server)
        (error,) = await conversation.errors()
        assert error.kind == "compaction" and why in error.line, error


async def test_a_server_that_fails_changes_nothing_and_the_question_is_asked_all_the_same(
    home: Path, server: OllamaServer
) -> None:
    async with talking(home, server, 5) as (_, conversation):
        before = await conversation.tail(100)
        server.script(Turn(http(500, {"error": "out of luck"}), when=ASKS_FOR_SUMMARY), "Six.")
        events = await ask(conversation, "Question 6?")
        failed = one(events, CompactionFailed)
        assert "Earlier turns were not summarised." in failed.line and failed.hint.endswith("/compact.")
        assert one(events, TurnEnded).status is TurnStatus.SETTLED
        after = await conversation.tail(100)
        assert after.entries[:10] == before.entries and len(after.entries) == 12
        assert "Question 1?" in sent(server)
        assert [(error.kind, error.turn_id) for error in await conversation.errors()] == [
            ("compaction", None)
        ]
        assert await conversation.time.checkpoints() == []


async def test_stopped_it_changes_nothing_and_the_question_stays_unsent(
    home: Path, server: OllamaServer
) -> None:
    async with talking(home, server, 5) as (_, conversation):
        server.script(Turn(say("They"), gate("never"), when=ASKS_FOR_SUMMARY))
        before, begun = await conversation.tail(100), []

        def unsent() -> Draft | None:
            begun.append(True)
            return None

        events: list[Event] = []
        async for event in conversation.ask(Prompt("Question 6?"), unsent):
            events.append(event)
            if isinstance(event, PhaseChanged):
                asyncio.get_running_loop().call_later(0.05, conversation.stop)
        assert one(events, TurnEnded).status is TurnStatus.INTERRUPTED and not begun
        assert await conversation.tail(100) == before and not await conversation.errors()
        await asyncio.to_thread(_until_left, server)
        # The next one is asked as if nothing had been.
        server.script(Turn("Of 1 to 4.", when=ASKS_FOR_SUMMARY), "Six.")
        assert one(await ask(conversation, "Question 6?"), Compacted)


def _until_left(server: OllamaServer) -> None:
    wait_until(lambda: server.chats[-1].disconnected)


async def test_pinned_turns_stay_word_for_word_and_dropped_ones_are_in_neither(
    home: Path, server: OllamaServer
) -> None:
    async with talking(home, server, 4, window=4096) as (_, conversation):
        path = (await conversation.tail(100)).entries
        one_, two = (next(e for e in path if e.text == f"Question {n}?") for n in (1, 2))
        await conversation.time.mark(Mark.PIN, one_.id)
        await conversation.time.mark(Mark.DROP, two.id)
        for number in (5, 6):
            server.script(f"Answer {number}. {LONG}")
            await ask(conversation, f"Question {number}?")
        server.script(Turn("The first summary.", when=ASKS_FOR_SUMMARY), "Seven.")
        compacted: Compacted = one(await events_of(conversation.compact()), Compacted)
        assert [e.text for e in compacted.left if e.kind is Kind.QUESTION] == ["Question 3?"]
        assert "Question 2?" not in sent(server)
        await ask(conversation, "Question 7?")
        shown = [word for n in range(1, 8) if (word := f"Question {n}?") in sent(server)]
        assert shown == ["Question 1?", *(f"Question {n}?" for n in (4, 5, 6, 7))]
        # The next one carries the pin on; the one after it has been freed does not.
        for number in (8, 9):
            server.script(f"Answer {number}. {LONG}")
            await ask(conversation, f"Question {number}?")
        server.script(Turn("The second summary.", when=ASKS_FOR_SUMMARY), "Ten.")
        weight = one(await events_of(conversation.compact()), Compacted).tokens_after
        handle = conversation.handle
    async with opened(home, "", settings=narrow(server.url, 4096), model="tiny:1b") as runtime:
        conversation = await runtime.resume(handle)
        assert conversation.used_tokens == weight
        await ask(conversation, "Question 10?")
        assert "Question 1?" in sent(server) and "Answer 1." in sent(server)
        assert "The second summary." in sent(server) and "The first summary." not in sent(server)
        await conversation.time.mark(Mark.FREE, one_.id)
        server.script(f"Answer 11. {LONG}", Turn("The third summary.", when=ASKS_FOR_SUMMARY), "Twelve.")
        await ask(conversation, "Question 11?")
        assert one(await events_of(conversation.compact()), Compacted)
        assert "Question 1?" in sent(server, -1), "what is free again is summarised"
        await ask(conversation, "Question 12?")
        assert "Question 1?" not in sent(server)


async def test_a_path_too_long_to_go_on_is_asked_about_as_bounded_text(
    home: Path, server: OllamaServer
) -> None:
    async with talking(home, server, 5, window=8192) as (_, conversation):
        handle = conversation.handle
    for window in (1024, 512):
        async with opened(home, "", settings=narrow(server.url, window), model="tiny:1b") as runtime:
            conversation = await runtime.resume(handle)
            server.script(Turn("They filled it.", when=ASKS_FOR_SUMMARY), "Six.")
            assert one(await ask(conversation, "Question 6?"), Compacted)
            asking, asked = server.chats[-2:]
            first, request = messages(asking)
            assert first["content"].startswith("You summarise") and "tools" not in asking.body
            assert "Person: Question 1?" in request["content"] and " … " in request["content"]
            assert [options(chat)["num_ctx"] for chat in (asking, asked)] == [window, window]
            assert not any(chat.dropped for chat in (asking, asked))
            await undone(conversation)
            await undone(conversation)


async def test_again_and_again_the_summary_holds_the_earlier_one_and_no_request_is_cut(
    home: Path, server: OllamaServer
) -> None:
    server.script(*(Turn(f"Summary number {n}.", when=ASKS_FOR_SUMMARY) for n in range(1, 31)))
    async with talking(home, server, 0) as (_, conversation):
        made: list[tuple[int, Compacted]] = []
        for number in range(1, 31):
            server.script(f"Answer {number}. {LONG}")
            events = await ask(conversation, f"Question {number}?")
            made += ((number, event) for event in events if isinstance(event, Compacted))
            assert one(events, TurnEnded).status is TurnStatus.SETTLED
        numbers = [number for number, _ in made]
        assert all(later - earlier >= 3 for earlier, later in pairwise(numbers)), numbers
        assert f"Summary number {len(made)}." in sent(server) and "Summary number 1." not in sent(server)
        asking = [chat for chat in server.chats if "Summarise" in messages(chat)[-1]["content"]]
        for place, chat in enumerate(asking[1:], 1):
            assert f"Summary number {place}." in json.dumps(chat.body)
        assert not any(chat.dropped or chat.reloaded for chat in server.chats)
        kinds = [entry.kind for entry in (await conversation.tail(200)).entries]
        assert kinds.count(Kind.SUMMARY) == len(made) and kinds.count(Kind.QUESTION) == 30


async def test_a_summary_that_can_not_be_stored_changes_nothing(home: Path, server: OllamaServer) -> None:
    async with talking(home, server, 4) as (runtime, conversation):
        before = await conversation.tail(100)
        server.script(Turn("Of 1 to 3.", when=ASKS_FOR_SUMMARY))
        with closing(sqlite3.connect(runtime.paths.database)) as other:
            other.execute("BEGIN IMMEDIATE")
            compacting = asyncio.create_task(events_of(conversation.compact()))
            while not compacting.done():
                await conversation.save_at_last()  # from now on no lock is waited for
                await asyncio.wait({compacting}, timeout=0.02)
            assert "locked" in one(compacting.result(), CompactionFailed).line
            other.rollback()
        assert await conversation.tail(100) == before
        server.script("Five.")
        await ask(conversation, "Question 5?")
        assert "Question 1?" in sent(server)


async def test_a_model_with_tools_is_asked_with_the_same_tools_and_without_thinking(
    home: Path, server: OllamaServer
) -> None:
    server.models = {
        "qwen3:4b": ModelSpec("qwen3:4b", ("completion", "tools", "thinking"), "qwen3", size=2_000)
    }
    async with opened(home, "", settings=narrow(server.url, 8192), model="qwen3:4b") as runtime:
        conversation = runtime.new_conversation()
        conversation.set_thinking(True)
        server.script(
            Turn(call("ls", {"path": "."})), f"Nothing there. {LONG * 2}",
            Turn(call("ls", {"path": "."}), when=ASKS_FOR_SUMMARY), "Two.",
        )  # fmt: skip
        await ask(conversation, "Look around.")
        compacted: Compacted = one(await events_of(conversation.compact("the folder")), Compacted)
        assert compacted.mechanical and compacted.summary.kept_from is None
        (error,) = await conversation.errors()
        assert "it called a tool" in error.line
        asking, before = server.chats[-1], server.chats[-2]
        assert asking.body["tools"] == before.body["tools"]
        assert (before.body["think"], asking.body["think"]) == (True, False)
        assert "is about: the folder" in messages(asking)[-1]["content"]
        assert len(server.chats) == 3, "nothing of what it called is run"
        await ask(conversation, "And now?")
        assert [message["role"] for message in messages(server.chats[-1])] == ["system", "user"]
        assert "Mode: NORMAL" in sent(server), "told again, because what told it has left"
        assert not any(chat.reloaded for chat in server.chats)
