"""Notes of the folder: a model keeps them when the person agrees; later conversations are told of them."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.settings import MemorySettings
from local_agent.domain.approvals import Answer, Choice
from local_agent.domain.drafts import Prompt
from local_agent.domain.events import ApprovalAsked, Event, Notice
from local_agent.domain.modes import Mode
from local_agent.domain.moves import Scope
from local_agent.runtime.conversation import Conversation
from local_agent.runtime.runtime import Runtime
from tests.runtime.opened import events_of, opened, settings_for
from tests.runtime.test_tools_sent import answered, messages
from tests.support.ollama_server import OllamaServer, Turn, call

SAVES = Turn(call("memory_save", {"text": "Tests run with make check."}))
NAMES = {"memory_save", "memory_update", "memory_delete", "memory_list", "memory_recall"}


def last_question(server: OllamaServer) -> str:
    return [message["content"] for message in messages(server.chats[-1]) if message["role"] == "user"][-1]


def results(server: OllamaServer) -> list[str]:
    return [message["content"] for message in messages(server.chats[-1]) if message["role"] == "tool"]


def offered(server: OllamaServer) -> set[str]:
    return {tool["function"]["name"] for tool in server.chats[-1].body.get("tools", ())}


async def say(conversation: Conversation, text: str) -> list[Event]:
    return await events_of(conversation.ask(Prompt(text)))


async def test_what_one_conversation_notes_the_next_one_is_told_once(
    home: Path, server: OllamaServer
) -> None:
    server.script(SAVES, "Noted.", "Hello.", "Again.")
    async with opened(home, server.url) as runtime:
        first = runtime.new_conversation()
        await answered(first, "Remember how tests run.", Choice.ONCE)
        assert results(server) == ["Noted as 1."]
        handle = first.handle
        assert [note.line for note in (await runtime.notes.read()).kept] == [
            f"[1] Tests run with make check. (session {handle})"
        ]
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await say(conversation, "Hi")
        assert f"[1] Tests run with make check. (session {handle})" in last_question(server)
        assert last_question(server).endswith("\n\nHi")
        assert "make check" not in messages(server.chats[-1])[0]["content"], "the prompt's cache stays"
        await say(conversation, "Hi again")
        assert "make check" not in last_question(server)


async def test_a_change_is_told_with_the_next_question_and_a_resume_tells_nothing_twice(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Two.", "Three.", "Four.")
    async with opened(home, server.url) as runtime:
        await runtime.notes.add("The port is 5544.")
        await runtime.notes.add("Old.")
        conversation = runtime.new_conversation()
        await say(conversation, "One?")
        handle = conversation.handle
        await conversation.close()
    async with opened(home, server.url) as runtime:
        conversation = await runtime.resume(handle)
        await say(conversation, "Two?")
        assert "5544" not in last_question(server)
        await runtime.notes.edit(1, "The port is 7788.")
        await runtime.notes.delete(2)
        await say(conversation, "Three?")
        assert "[1] The port is 7788.\n" in last_question(server).replace("\n\n", "\n")
        assert "[2] is not noted any more." in last_question(server)
        await say(conversation, "Four?")
        assert "Noted" not in last_question(server)


async def test_after_an_undo_it_is_told_again(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.")
    async with opened(home, server.url) as runtime:
        await runtime.notes.add("The port is 5544.")
        conversation = runtime.new_conversation()
        await say(conversation, "One?")
        await conversation.time.go(await conversation.time.undo(), Scope.CONVERSATION)
        await say(conversation, "Two?")
        assert "5544" in last_question(server)


@pytest.mark.parametrize("mode", [Mode.NORMAL, Mode.AUTO])
async def test_a_change_is_asked_about_with_its_words_also_in_auto(
    home: Path, server: OllamaServer, mode: Mode
) -> None:
    server.script(
        SAVES,
        Turn(call("memory_update", {"id": 1, "text": "Tests run with make test."})),
        Turn(call("memory_delete", {"id": 1})),
        "Well.",
    )
    asked: list[ApprovalAsked] = []
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await conversation.set_mode(mode)
        async with aclosing(conversation.ask(Prompt("Go."))) as events:
            async for event in events:
                if isinstance(event, ApprovalAsked):
                    asked.append(event)
                    choice = Choice.NO if len(asked) == 3 else Choice.ONCE
                    conversation.answer(event.request.id, Answer(choice))
        assert [each.request.tool for each in asked] == ["memory_save", "memory_update", "memory_delete"]
        assert "-Tests run with make check.\n+Tests run with make test." in asked[1].request.diff
        assert results(server)[:2] == ["Noted as 1.", "Note 1 is changed."]
        assert [note.text for note in (await runtime.notes.read()).kept] == ["Tests run with make test."]


async def test_plan_recalls_and_changes_nothing(home: Path, server: OllamaServer) -> None:
    server.script(
        Turn(
            call("memory_recall", {"words": "port"}),
            call("memory_list", {}),
            call("memory_save", {"text": "x"}),
            call("memory_delete", {"id": 1}),
        ),
        "Well.",
    )
    async with opened(home, server.url) as runtime:
        await runtime.notes.add("The port is 5544.")
        await runtime.notes.add("Other.")
        conversation = runtime.new_conversation()
        await conversation.set_mode(Mode.PLAN)
        await say(conversation, "Go.")
        recalled, listed, *refused = results(server)
        assert recalled == "[1] The port is 5544."
        assert listed.splitlines() == ["[2] Other.", "[1] The port is 5544."]
        assert all("PLAN changes nothing" in text for text in refused) and len(refused) == 2
        assert len((await runtime.notes.read()).kept) == 2


async def test_an_answer_for_the_session_covers_the_next_note(home: Path, server: OllamaServer) -> None:
    other = Turn(call("memory_save", {"text": "Another."}))
    server.script(SAVES, other, "Noted.")
    async with opened(home, server.url) as runtime:
        events = await answered(runtime.new_conversation(), "Go.", Choice.SESSION)
        assert len([event for event in events if isinstance(event, ApprovalAsked)]) == 1
        assert len((await runtime.notes.read()).kept) == 2


async def test_a_wrong_call_is_told_what_is_wrong(home: Path, server: OllamaServer) -> None:
    server.script(
        Turn(call("memory_save", {"text": " "}), call("memory_update", {"id": 9, "text": "x"})),
        Turn(call("memory_delete", {"id": 1}), call("memory_recall", {"words": "zebra"})),
        "Well.",
    )
    async with opened(home, server.url) as runtime:
        await runtime.notes._changed(lambda notes: notes.added("A proposal.", "now", proposed=True))
        await say(runtime.new_conversation(), "Go.")
        assert results(server) == [
            "A note needs words.",
            "There is no note 9: memory_list lists them.",
            "There is no note 1: memory_list lists them.",
            "Nothing is noted about that.",
        ]
        assert len((await runtime.notes.read()).inbox) == 1


async def test_a_note_that_was_changed_while_it_was_asked_about_stays(
    home: Path, server: OllamaServer
) -> None:
    server.script(Turn(call("memory_update", {"id": 1, "text": "Mine."})), "Well.")
    async with opened(home, server.url) as runtime:
        await runtime.notes.add("Before.")
        conversation = runtime.new_conversation()
        async with aclosing(conversation.ask(Prompt("Go."))) as events:
            async for event in events:
                if isinstance(event, ApprovalAsked):
                    await runtime.notes.edit(1, "The person's.")
                    conversation.answer(event.request.id, Answer(Choice.ONCE))
        assert results(server) == ["Note 1 was changed meanwhile: list the notes again."]
        assert (await runtime.notes.read()).find(1).text == "The person's."


async def test_another_folders_notes_are_not_told(home: Path, server: OllamaServer, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server.script("Hello.")
    async with opened(home, server.url, workspace=elsewhere) as runtime:
        await runtime.notes.add("A secret of elsewhere.")
    async with opened(home, server.url) as runtime:
        await say(runtime.new_conversation(), "Hi")
    assert "secret" not in server.chats[-1].raw


async def test_a_damaged_file_is_said_once_and_keeps_no_turn(home: Path, server: OllamaServer) -> None:
    server.script("One.", "Two.", SAVES, "Well.", "Four.")
    async with opened(home, server.url) as runtime:
        await runtime.notes.add("The port is 5544.")
        good = runtime.notes.path.read_text()
        runtime.notes.path.write_text(good[:-20])
        conversation = runtime.new_conversation()
        said = [event.text for event in await say(conversation, "One?") if isinstance(event, Notice)]
        assert len(said) == 1 and "can't be read" in said[0] and "Mend the file" in said[0]
        assert not [event for event in await say(conversation, "Two?") if isinstance(event, Notice)]
        await say(conversation, "Save it.")
        assert "can't be read" in results(server)[-1]
        assert runtime.notes.path.read_text() == good[:-20]
        runtime.notes.path.write_text(good)
        await say(conversation, "Four?")
        assert "5544" in last_question(server)


async def test_off_means_that_models_neither_hear_of_notes_nor_make_any(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Two.", "Three.")
    off = replace(settings_for(server.url), memory=MemorySettings(notes=False))

    async def asked(text: str, **options: object) -> Runtime:
        async with opened(home, server.url, **options) as runtime:  # type: ignore[arg-type]  # by name
            await say(runtime.new_conversation(), text)
            return runtime

    async with opened(home, server.url) as runtime:
        await runtime.notes.add("The port is 5544.")
    await asked("One?", settings=off)
    assert "5544" not in server.chats[-1].raw and not offered(server) & NAMES
    await asked("Two?", save=False)
    assert "5544" not in server.chats[-1].raw and not offered(server) & NAMES
    await asked("Three?")
    assert "5544" in server.chats[-1].raw and offered(server) >= NAMES


async def test_a_small_window_gets_the_newest_notes_alone(home: Path, server: OllamaServer) -> None:
    server.script("One.")
    settings = settings_for(server.url)
    settings = replace(settings, ollama=replace(settings.ollama, num_ctx=4096))
    async with opened(home, server.url, settings=settings) as runtime:
        for number in range(40):
            await runtime.notes.add(f"Fact {number}: {'word ' * 10}")
        await say(runtime.new_conversation(), "One?")
    told = last_question(server)
    assert "Fact 39:" in told and "Fact 0:" not in told and "more: memory_list)" in told
    assert len(told.encode()) < 4096 // 4 + 300
