"""What the server's log shows of every call: as set, and the same on every call to one model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from local_agent.config.load import load_settings
from local_agent.config.settings import Settings
from local_agent.domain.drafts import Prompt
from local_agent.domain.events import Event, Notice, TurnFailed
from tests.runtime.opened import events_of, opened, paths_in
from tests.support.ollama_server import ModelSpec, OllamaServer, RequestRecord, Turn, http

PLAIN = ModelSpec("llama3.2:3b", size=2_000)
THINKER = ModelSpec("qwen3:4b", ("completion", "thinking"), size=2_000)
LEVELS = ModelSpec("gpt-oss:20b", ("completion", "thinking"), arch="gptoss", size=2_000)
CONFIG = """\
ollama: {num_ctx: 8192, keep_alive: 10m}
model:
  max_output: 700
  options: {temperature: 0.2, seed: 7, stop: ["###"]}
  per_model:
    qwen3:4b: {num_ctx: 4096, keep_alive: -1, max_output: 300, thinking: false, options: {seed: 1, top_k: 3}}
"""
FOR_ALL = {"num_ctx": 8192, "num_predict": 700, "temperature": 0.2, "seed": 7, "stop": ["###"]}
FOR_QWEN = {"num_ctx": 4096, "num_predict": 300, "temperature": 0.2, "seed": 1, "top_k": 3, "stop": ["###"]}
NOTHING = object()
"""In place of what must not be sent."""


@pytest.fixture(autouse=True)
def models(server: OllamaServer) -> None:
    server.models = {spec.name: spec for spec in (PLAIN, THINKER, LEVELS)}


def configured(home: Path, url: str, text: str = CONFIG) -> Settings:
    home.mkdir(0o700, parents=True, exist_ok=True)
    paths = paths_in(home)
    paths.config_file.write_text(text)
    return load_settings(paths, home, {"OLLAMA_HOST": url}).settings


def said(record: RequestRecord) -> Mapping[str, Any]:
    """All that a call carries but its messages and tools."""
    return {name: value for name, value in record.body.items() if name not in ("messages", "tools")}


def shape(model: str, options: Mapping[str, Any], keep_alive: object, think: object) -> Mapping[str, Any]:
    body = {
        "model": model, "options": options, "keep_alive": keep_alive, "think": think, "stream": True,
        "truncate": False,
    }  # fmt: skip
    return {name: value for name, value in body.items() if value is not NOTHING}


async def test_every_call_carries_what_is_set_for_its_model(home: Path, server: OllamaServer) -> None:
    server.script(*(f"Answer {number}." for number in range(8)))
    settings = configured(home, server.url)
    async with opened(home, "", settings=settings, model="llama3.2:3b") as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("One")))
        conversation.set_thinking(True)  # it can't think: nothing of that is sent
        await events_of(conversation.ask(Prompt("Two")))
        await events_of(conversation.retry())
        conversation.set_thinking(None)
        await runtime.models.choose(conversation, "qwen3:4b")
        await events_of(conversation.ask(Prompt("Three")))
        conversation.set_thinking(True)
        await events_of(conversation.ask(Prompt("Four")))
        await runtime.models.choose(conversation, "gpt-oss:20b")
        await events_of(conversation.ask(Prompt("Five")))
        handle = conversation.handle
    async with opened(home, "", settings=settings) as runtime:
        resumed = await runtime.resume(handle)
        resumed.set_thinking("high")
        await events_of(resumed.ask(Prompt("Six")))
        await runtime.models.choose(resumed, "qwen3:4b")
        resumed.set_thinking(None)
        await events_of(resumed.ask(Prompt("Seven")))
    plain = shape("llama3.2:3b", FOR_ALL, "10m", NOTHING)
    assert [said(chat) for chat in server.chats] == [
        plain,
        plain,
        plain,
        shape("qwen3:4b", FOR_QWEN, -1, False),
        shape("qwen3:4b", FOR_QWEN, -1, True),
        shape("gpt-oss:20b", FOR_ALL, "10m", "medium"),
        shape("gpt-oss:20b", FOR_ALL, "10m", "high"),
        shape("qwen3:4b", FOR_QWEN, -1, False),
    ]
    able = {spec.name for spec in server.models.values() if "tools" in spec.capabilities}
    tools = {json.dumps(chat.body["tools"]) for chat in server.chats if chat.body["model"] in able}
    assert len(tools) == 1, "the same tools in every request"
    assert not any("tools" in chat.body for chat in server.chats if chat.body["model"] not in able)
    # No call made the server load a model anew.
    assert [name for name, _ in server.memory.loads] == ["llama3.2:3b", "qwen3:4b", "gpt-oss:20b"]
    assert not any(chat.reloaded or chat.dropped for chat in server.chats)


async def test_without_settings_only_the_window_and_the_limit_are_sent(
    home: Path, server: OllamaServer
) -> None:
    server.script("A.", "B.")
    async with opened(home, server.url) as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("One")))
        await events_of(conversation.ask(Prompt("Two")))
    first, second = (said(chat) for chat in server.chats)
    assert first == second
    assert set(first) == {"model", "options", "stream", "truncate"}
    assert set(first["options"]) == {"num_ctx", "num_predict"}


async def test_a_change_of_settings_counts_from_the_next_turn_on(home: Path, server: OllamaServer) -> None:
    server.script("A.", "B.")
    settings = configured(home, server.url)
    async with opened(home, "", settings=settings, model="llama3.2:3b") as runtime:
        conversation = runtime.new_conversation()
        await events_of(conversation.ask(Prompt("One")))
        runtime.adopt(configured(home, server.url, CONFIG.replace("0.2", "0.9")), conversation)
        await events_of(conversation.ask(Prompt("Two")))
    assert [chat.body["options"]["temperature"] for chat in server.chats] == [0.2, 0.9]  # type: ignore[index]  # an object


async def test_a_refused_think_is_asked_once_without_and_never_again(
    home: Path, server: OllamaServer
) -> None:
    """An old server does not say what its models can do."""
    refusal = http(400, {"error": '"qwen3:4b" does not support thinking'})
    server.script(Turn(refusal), "A.", "B.")
    async with opened(home, server.url, model="qwen3:4b") as runtime:
        conversation = runtime.new_conversation()
        conversation.set_thinking(True)
        first = await events_of(conversation.ask(Prompt("One")))
        second = await events_of(conversation.ask(Prompt("Two")))
    assert [chat.body.get("think") for chat in server.chats] == [True, None, None]
    assert [_told(first), _told(second)] == [["qwen3:4b can't think aloud; it was asked without."], []]


def _told(events: list[Event]) -> list[str]:
    assert not any(isinstance(event, TurnFailed) for event in events)
    return [event.text for event in events if isinstance(event, Notice)]
