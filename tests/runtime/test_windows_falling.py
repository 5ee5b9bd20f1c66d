"""A window that does not fit into memory: the next smaller one, once, said and remembered."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from local_agent.config.settings import Settings
from local_agent.domain.drafts import Prompt
from local_agent.domain.entries import TurnStatus
from local_agent.domain.events import Event, Notice, TurnEnded
from local_agent.runtime.conversation import Conversation
from tests.runtime.opened import events_of, opened, settings_for
from tests.support.ollama_server import ModelSpec, OllamaServer, Turn, error

SPILLS = ModelSpec("llama3.2:3b", size=2_000, most_window=8_192)
"""With more context than that it lies in the GPU's memory in part only."""
NO_MEMORY = "llama-server reported out-of-memory during startup: cudaMalloc failed"


def windows(server: OllamaServer) -> list[int]:
    return [record.window for record in server.chats]


def said(events: Sequence[Event]) -> list[str]:
    return [event.text for event in events if isinstance(event, Notice) and "does not fit" in event.text]


def remembered(home: Path) -> object:
    return json.loads((home / "runtime-preferences.json").read_bytes()).get("windows")


async def ask(conversation: Conversation) -> list[Event]:
    return await events_of(conversation.ask(Prompt("Hello?")))


async def test_a_model_that_lies_in_the_gpu_in_part_is_asked_with_less(
    home: Path, server: OllamaServer
) -> None:
    server.models = {SPILLS.name: SPILLS}
    server.script(*["Hi."] * 5)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        lines = [said(await ask(conversation)) for _ in range(4)]
        assert windows(server) == [16_384, 8_192, 8_192, 8_192]
        assert conversation.window == 8_192
    line = "llama3.2:3b does not fit into memory with a context window of 16,384 tokens: "
    assert lines == [[], [f"{line}it is asked with 8,192 from now on."], [], []]
    assert remembered(home) == {SPILLS.digest[:12]: 8_192}
    assert [window for _, window in server.memory.loads] == [16_384, 8_192]
    async with opened(home, server.url) as runtime:
        assert said(await ask(runtime.new_conversation())) == []
    assert windows(server)[-1] == 8_192


async def test_it_falls_once_however_little_fits(home: Path, server: OllamaServer) -> None:
    server.models = {SPILLS.name: replace(SPILLS, most_window=1)}
    server.script(*["Hi."] * 4)
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        for _ in range(4):
            await ask(conversation)
    assert windows(server) == [16_384, 8_192, 8_192, 8_192]


async def test_a_machine_without_a_gpu_holds_what_it_holds(home: Path, server: OllamaServer) -> None:
    server.models = {SPILLS.name: replace(SPILLS, gpu_share=0.0)}
    server.script("Hi.", "Hi.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert [said(await ask(conversation)) for _ in range(2)] == [[], []]
    assert windows(server) == [16_384, 16_384]


async def test_a_window_that_the_person_set_stays(home: Path, server: OllamaServer) -> None:
    server.models = {SPILLS.name: SPILLS}
    server.script("Hi.", "Hi.")
    defaults = settings_for(server.url)
    settings: Settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=16_384))
    async with opened(home, server.url, settings=settings) as runtime:
        conversation = runtime.new_conversation()
        assert [said(await ask(conversation)) for _ in range(2)] == [[], []]
    assert windows(server) == [16_384, 16_384]
    assert not (home / "runtime-preferences.json").exists()


async def test_a_model_that_cannot_be_loaded_is_asked_with_less_in_the_same_turn(
    home: Path, server: OllamaServer
) -> None:
    server.models = {SPILLS.name: replace(SPILLS, load_error=NO_MEMORY)}
    server.script("Hi.", "Hi.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        first, second = await ask(conversation), await ask(conversation)
    assert [len(said(events)) for events in (first, second)] == [1, 0]
    assert [record.status for record in server.chats] == [500, 200, 200]
    assert [record.body["options"]["num_ctx"] for record in server.chats] == [16_384, 8_192, 8_192]  # type: ignore[index]  # an object
    assert remembered(home) == {SPILLS.digest[:12]: 8_192}


@pytest.mark.parametrize("set_window", [None, 16_384])
async def test_a_model_that_no_window_makes_fit_ends_the_turn(
    home: Path, server: OllamaServer, set_window: int | None
) -> None:
    server.models = {SPILLS.name: replace(SPILLS, load_error=NO_MEMORY, most_window=1)}
    defaults = settings_for(server.url)
    settings = replace(defaults, ollama=replace(defaults.ollama, num_ctx=set_window))
    async with opened(home, server.url, settings=settings) as runtime:
        events = await ask(runtime.new_conversation())
    ended = events[-1]
    assert isinstance(ended, TurnEnded) and ended.status is TurnStatus.FAILED
    assert ended.stop_reason == "no_memory"
    assert len(server.chats) == (2 if set_window is None else 1)
    assert not (home / "runtime-preferences.json").exists()


async def test_a_window_that_was_answered_in_stays_whatever_the_machine_is_short_of(
    home: Path, server: OllamaServer
) -> None:
    server.models = {SPILLS.name: replace(SPILLS, most_window=0)}
    server.script("Hi.", Turn(error(NO_MEMORY)), "Hi.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        assert [said(await ask(conversation)) for _ in range(3)] == [[], [], []]
    assert windows(server) == [16_384] * 3
