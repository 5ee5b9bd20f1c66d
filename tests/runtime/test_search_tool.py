"""A model that may look into earlier conversations gets past exchanges, and neither its own nor others'."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from local_agent.config.settings import MemorySettings, Settings
from local_agent.domain.drafts import Prompt
from tests.runtime.opened import events_of, opened, settings_for
from tests.runtime.test_tools_sent import messages
from tests.support.ollama_server import OllamaServer, Turn, call


def searching(url: str) -> Settings:
    return replace(settings_for(url), memory=MemorySettings(search_tool=True))


def looks(**arguments: str | int) -> Turn:
    return Turn(call("search_memory", arguments))


def tool_results(server: OllamaServer) -> list[str]:
    return [message["content"] for message in messages(server.chats[-1]) if message["role"] == "tool"]


async def asked(home: Path, server: OllamaServer, *prompts: str, settings: Settings | None = None) -> None:
    async with opened(home, server.url, settings=settings or searching(server.url)) as runtime:
        conversation = runtime.new_conversation()
        for prompt in prompts:
            await events_of(conversation.ask(Prompt(prompt)))
        await conversation.close()


async def test_past_exchanges_come_marked_and_bounded(home: Path, server: OllamaServer) -> None:
    server.script(
        " ".join(["It listens on 5544.", *(f"Step {number} follows." for number in range(500))]),
        looks(words="database port"),
        "5544.",
    )
    await asked(home, server, "Which port has the database?")
    await asked(home, server, "What did we say?")

    (result,) = tool_results(server)
    assert result.startswith("From earlier conversations in this folder; it may be out of date.")
    assert "Asked: Which port has the database?" in result
    assert "Answered: It listens on 5544." in result
    assert len(result) < 1500


async def test_one_entry_is_read_whole(home: Path, server: OllamaServer) -> None:
    answer = " ".join(
        ["It listens on 5544.", *(f"Step {number} follows." for number in range(60)), "The end."]
    )
    server.script(answer, looks(entry=2), "Ah.")
    await asked(home, server, "Which port has the database?")
    await asked(home, server, "What did we say?")

    (result,) = tool_results(server)
    assert answer.strip() in result


async def test_neither_its_own_words_nor_copies_of_them_are_found(home: Path, server: OllamaServer) -> None:
    server.script("It listens on 5544.", "It listens on 5544.", looks(words="database"), "Nothing.")
    await asked(home, server, "Which port has the database?")
    await asked(home, server, "Which port has the database?", "Look for the database.")

    (result,) = tool_results(server)
    assert result.startswith("Nothing says these words.")
    assert "5544" not in result


async def test_another_folders_past_is_neither_found_nor_read(
    home: Path, server: OllamaServer, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    server.script("It listens on 5544.", looks(words="5544"), looks(entry=2), "Nothing.")
    async with opened(home, server.url, workspace=elsewhere) as runtime:
        await events_of(runtime.new_conversation().ask(Prompt("Which port has the database?")))
    await asked(home, server, "What did we say?")

    missed, refused = tool_results(server)
    assert missed.startswith("Nothing says these words.")
    assert "There is no entry 2 in this folder's conversations" in refused
    assert "listens" not in missed + refused


async def test_the_tool_is_there_only_when_it_is_turned_on_and_something_is_kept(
    home: Path, server: OllamaServer
) -> None:
    server.script("One.", "Two.", "Three.")

    def offered() -> set[str]:
        return {tool["function"]["name"] for tool in server.chats[-1].body.get("tools", ())}

    await asked(home, server, "One?", settings=settings_for(server.url))
    assert "read" in offered() and "search_memory" not in offered()
    await asked(home, server, "Two?")
    assert "search_memory" in offered()
    async with opened(home, server.url, settings=searching(server.url), save=False) as runtime:
        await events_of(runtime.new_conversation().ask(Prompt("Three?")))
    assert "search_memory" not in offered()
