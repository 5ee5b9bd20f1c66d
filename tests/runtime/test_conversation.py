"""Conversations over the real store and the scripted server: asked, left, resumed, retried, watched."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import Entry, EntryStatus, Kind, TurnStatus
from local_agent.domain.errors import SessionHeld, StoreError, UsageError
from local_agent.domain.events import Event, Notice, TextDelta, TurnEnded, TurnFailed, TurnStarted
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.model import small_model
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, done, gate, say


def texts(entries: tuple[Entry, ...]) -> list[str]:
    return [entry.text for entry in entries]


def ended(events: list[Event]) -> TurnEnded:
    assert isinstance(events[-1], TurnEnded)
    return events[-1]


def files_in(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


async def test_a_conversation_is_there_again_and_the_next_request_carries_it(
    home: Path, server: OllamaServer
) -> None:
    server.script("Blue.", "Because of Rayleigh scattering.", "You asked about the sky.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert (conversation.handle, conversation.title) == ("", "")
        await events_of(conversation.ask(Prompt("What colour is the sky?")))
        await events_of(conversation.ask(Prompt("Why?")))
        handle = conversation.handle
        assert conversation.title == "What colour is the sky?"
        await conversation.close()
    async with opened(home, server.url) as runtime:
        latest = await runtime.library.latest()
        assert latest is not None and latest.handle == handle
        resumed = await runtime.resume(handle)
        assert texts((await resumed.tail()).entries) == [
            "What colour is the sky?",
            "Blue.",
            "Why?",
            "Because of Rayleigh scattering.",
        ]
        assert resumed.used_tokens
        await events_of(resumed.ask(Prompt("What did I ask?")))
    first, second, third = (chat.body["messages"] for chat in server.chats)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert third[-1] == {"role": "user", "content": "What did I ask?"}


async def test_opening_and_leaving_writes_nothing(home: Path, server: OllamaServer) -> None:
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        await conversation.close()
        assert await runtime.library.page() == []
    assert {name for name in files_in(home) if "lock" not in name} == {"local-agent.db"}


async def test_without_a_server_the_question_is_kept_and_a_retry_sends_it_once(
    home: Path, server: OllamaServer
) -> None:
    await server.refuse()
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        events = await events_of(conversation.ask(Prompt("Are you there?")))
        failure = next(event for event in events if isinstance(event, TurnFailed))
        assert failure.kind == "unreachable" and failure.hint
        assert ended(events).status is TurnStatus.FAILED
        assert texts((await conversation.tail()).entries) == ["Are you there?"]
        await server.accept()
        server.script("Yes.")
        await events_of(conversation.retry())
        assert texts((await conversation.tail()).entries) == ["Are you there?", "Yes."]
        assert [error.question for error in await conversation.errors()] == ["Are you there?"]
    asked = [m for m in server.chats[-1].body["messages"] if m["role"] == "user"]
    assert len(asked) == 1


async def test_a_stop_keeps_what_arrived_and_the_next_request_carries_it(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(say("Once upon "), gate("go"), say("a time")), "And then?")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        events: list[Event] = []
        async for event in conversation.ask(Prompt("Tell me a story")):
            events.append(event)
            if isinstance(event, TextDelta):
                conversation.stop()
        end = ended(events)
        assert end.status is TurnStatus.INTERRUPTED
        assert end.reply is not None and end.reply.status is EntryStatus.INTERRUPTED
        assert end.reply.text and "Once upon ".startswith(end.reply.text)
        server.release("go")
        await events_of(conversation.ask(Prompt("Go on")))
    roles = [message["role"] for message in server.chats[-1].body["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


async def test_retry_is_a_new_branch(home: Path, server: OllamaServer) -> None:
    server.script("Heads.", "Tails.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("Flip a coin")))
        await events_of(conversation.retry())
        assert texts((await conversation.tail()).entries) == ["Flip a coin", "Tails."]
    assert server.chats[0].body["messages"] == server.chats[1].body["messages"]


async def test_there_is_nothing_to_retry_or_rename_before_the_first_question(
    home: Path, server: OllamaServer
) -> None:
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        with pytest.raises(UsageError):
            await events_of(conversation.retry())
        with pytest.raises(UsageError):
            await conversation.rename("x")


async def test_a_held_session_is_watched_live_and_taken_over_by_decision(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", Turn(say("Two"), gate("go"), say(" and three.")), "Four.")
    async with opened(home, server.url) as writer, opened(home, server.url) as reader:
        conversation = writer.new_conversation()
        await events_of(conversation.ask(Prompt("Count")))
        with pytest.raises(SessionHeld) as held:
            await reader.resume(conversation.handle)
        assert held.value.holder.pid > 0
        mirror = await reader.view(conversation.handle)
        with pytest.raises(StoreError):
            await events_of(mirror.ask(Prompt("May I?")))
        running = asyncio.create_task(events_of(conversation.ask(Prompt("On"))))
        async with asyncio.timeout(10):
            async for seen in mirror.follow():
                assert seen.holder == mirror.writer == held.value.holder
                if seen.reply.text == "Two":
                    server.release("go")
                if texts(seen.tail.entries)[-1:] == ["Two and three."]:
                    assert seen.reply.empty
                    break
        await running
        taken = await reader.take_over(conversation.handle)
        await events_of(taken.ask(Prompt("And?")))
        lost = await events_of(conversation.ask(Prompt("Still mine?")))
        assert ended(lost).status is TurnStatus.FAILED
        assert any(
            "took" in event.line or "taken" in event.line for event in lost if isinstance(event, TurnFailed)
        )


async def test_a_pinned_model_comes_back_with_the_session(home: Path, server: OllamaServer) -> None:
    server.script("Hello.", "Hello again.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("Hi")))
        await conversation.set_model(conversation.model)
        handle, model = conversation.handle, conversation.model
    async with opened(home, server.url) as runtime:
        resumed = await runtime.resume(handle)
        assert resumed.model == model
        assert resumed.info is not None and resumed.info.model_pinned


async def test_a_stored_model_that_is_gone_does_not_block_reading(home: Path, server: OllamaServer) -> None:
    server.script("Hello.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("Hi")))
        handle, model = conversation.handle, conversation.model
    server.models.clear()
    async with opened(home, server.url) as runtime:
        resumed = await runtime.resume(handle)
        assert texts((await resumed.tail()).entries) == ["Hi", "Hello."]
        events = await events_of(resumed.ask(Prompt("Still there?")))
        failure = next(event for event in events if isinstance(event, TurnFailed))
        assert failure.kind == "no_model" and model in failure.line


async def test_a_turn_names_its_own_model_when_another_is_chosen_as_it_begins(
    home: Path, server: OllamaServer
) -> None:
    server.script("Hello.")
    other = "other:1b"
    server.models[other] = ModelSpec(other)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await conversation.prepare()
        choosing: list[asyncio.Task[str]] = []

        def begins() -> None:
            choosing.append(asyncio.ensure_future(runtime.models.choose(conversation, other)))

        events = [event async for event in conversation.ask(Prompt("Hi"), begins)]
        await asyncio.gather(*choosing)
        assert choosing and conversation.model == other
        started = next(event for event in events if isinstance(event, TurnStarted))
        assert started.model == server.chats[0].body["model"] != other


async def test_no_save_leaves_no_row_and_no_handle(home: Path, server: OllamaServer) -> None:
    server.script("Hello.")
    async with opened(home, server.url, save=False) as runtime:
        conversation = runtime.new_conversation()
        events = await events_of(conversation.ask(Prompt("Hi")))
        started = next(event for event in events if isinstance(event, TurnStarted))
        assert texts((await conversation.tail()).entries) == ["Hi", "Hello."]
        assert (conversation.handle, runtime.saved) == ("", False)
        assert started.handle == ""
        await runtime.save_draft(conversation, Draft("unsent"))
    assert files_in(home) == set()


async def test_a_host_elsewhere_is_reached_only_after_consent(home: Path, server: OllamaServer) -> None:
    settings = settings_for("http://192.0.2.7:11434")
    async with opened(home, "", settings=settings) as runtime:
        assert runtime.consent_needed == "192.0.2.7:11434"
        assert not (await runtime.state()).reachable
        events = await events_of(runtime.new_conversation().ask(Prompt("Hi")))
        assert any(isinstance(event, TurnFailed) and "192.0.2.7" in event.line for event in events)
        await runtime.allow_host(remember=True)
        assert runtime.consent_needed is None
    async with opened(home, "", settings=settings) as runtime:
        assert runtime.consent_needed is None
    for written in ("192.0.2.7", "192.0.2.7:11434"):
        named = replace(settings, privacy=replace(settings.privacy, allowed_hosts=(written,)))
        async with opened(home.parent / "other", "", settings=named) as runtime:
            assert runtime.consent_needed is None
    local = replace(settings, privacy=replace(settings.privacy, local_only=True))
    with pytest.raises(UsageError, match="local_only"):
        async with opened(home, "", settings=local):
            pass


async def test_the_session_list_counts_turns_and_errors(home: Path, server: OllamaServer) -> None:
    server.script("One.", Turn(say("Half")), "Two.")
    async with opened(home, server.url) as runtime:
        for question in ("First", "Second"):
            conversation = runtime.new_conversation()
            await events_of(conversation.ask(Prompt(question)))
            await conversation.close()
        listed = await runtime.library.page()
        assert [info.title for info in listed] == ["Second", "First"]
        assert [info.title for info in await runtime.library.page("fst")] == ["First"]
        preview = await runtime.library.preview(listed[-1].handle)
        assert [entry.kind for entry in preview.entries] == [Kind.QUESTION, Kind.ASSISTANT]
        facts = await runtime.facts(conversation)
        assert facts.state.reachable and facts.groups()["Database"]


@pytest.mark.parametrize(("version", "may_cut"), [("0.12.5", True), ("0.12.6", False)])
async def test_an_old_server_that_may_have_cut_the_prompt_is_named(
    home: Path, version: str, may_cut: bool
) -> None:
    settings = settings_for("")
    async with OllamaServer(version=version) as server:
        server.script(Turn(say("Fine."), done("stop", counts={"prompt_eval_count": 16_000})))
        settings = replace(settings, ollama=replace(settings.ollama, host=server.url))
        async with opened(home, "", settings=settings) as runtime:
            events = await events_of(runtime.new_conversation().ask(Prompt("Long?")))
    notices = [event.text for event in events if isinstance(event, Notice)]
    assert any("cut" in notice for notice in notices) is may_cut


async def test_a_question_is_given_the_date_until_one_with_it_was_answered(
    home: Path, server: OllamaServer
) -> None:
    await server.refuse()
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("Anyone?")))
        await server.accept()
        server.script("Yes.", "Still here.")
        await events_of(conversation.ask(Prompt("Now?")))
        await events_of(conversation.ask(Prompt("And now?")))
    asked = [chat.body["messages"][-1]["content"] for chat in server.chats]
    assert [question.startswith("Date: ") for question in asked] == [True, False]


async def test_instructions_leave_room_in_a_small_window(home: Path, server: OllamaServer) -> None:
    server.script("Fine.")
    settings = settings_for(server.url)
    settings = replace(settings, ollama=replace(settings.ollama, num_ctx=2048))
    async with opened(home, "", settings=settings) as runtime:
        instructions = Path(runtime.workspace_root, "AGENTS.md")
        await asyncio.to_thread(instructions.write_text, "Be kind. " * 5000, "utf-8")
        await events_of(runtime.new_conversation().ask(Prompt("Hi")))
    system = server.chats[0].body["messages"][0]["content"]
    assert "Be kind. " in system
    assert len(system.encode()) < 2048 + 1024


@pytest.mark.engine
async def test_a_resumed_conversation_is_shown_with_its_own_backend(home: Path, server: OllamaServer) -> None:
    model = small_model()
    defaults = settings_for(server.url)
    brief = replace(
        defaults,
        model=replace(defaults.model, max_output=4),
        embedded=replace(defaults.embedded, threads=1),
    )
    async with opened(home, "", settings=brief, gguf=model) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("Hi")))
        handle = conversation.handle
    async with opened(home, "", settings=brief) as runtime:
        resumed = await runtime.resume(handle)
        facts = await runtime.facts(resumed)
        assert facts.backend["kind"] == "embedded"
        assert facts.backend["address"] == str(model)
        assert [info.name for info in (await resumed.state()).models] == [resumed.model]
        assert (await runtime.facts()).backend["kind"] == "ollama"
