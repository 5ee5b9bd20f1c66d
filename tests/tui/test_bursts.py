"""Keys that come faster than they are handled act in their order, on what was typed before them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from local_agent.tui.screens.models import ModelsScreen
from local_agent.tui.screens.recall_search import RecallSearchScreen
from local_agent.tui.screens.sessions import SessionsScreen
from local_agent.tui.screens.settings import SettingsScreen
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.tui.chatting import chatting
from tests.tui.pilots import until
from tests.tui.stage import Stage, keep, runtime_of

NAMES = ("alpha:1b", "bravo:1b", "charlie:1b")


def burst(pilot: Pilot[Any], *keys: str) -> None:
    """Hand over all keys at once, as a terminal does that was busy, or a connection that stalled."""
    for key in keys:
        pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))


@pytest.mark.parametrize(
    ("keys", "chosen"),
    [
        ([*"charlie", "enter"], "charlie:1b"),
        (["down", "down", "enter"], "charlie:1b"),
        ([*"bravo", "down", "up", "enter"], "bravo:1b"),
        ([*":1b", "down", "enter"], "bravo:1b"),
    ],
)
async def test_a_model_is_chosen(home: Path, keys: list[str], chosen: str) -> None:
    async with (
        OllamaServer(models=[ModelSpec(name) for name in NAMES]) as server,
        chatting(home, server.url, model="alpha:1b") as chat,
    ):
        await chat.ready()
        await chat.pilot.press("ctrl+o")
        await until(
            chat.pilot,
            lambda: isinstance(chat.app.screen, ModelsScreen) and len(chat.app.screen.browser.shown) == 3,
        )
        burst(chat.pilot, *keys)
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        conversation = chat.screen.conversation
        await until(chat.pilot, lambda: conversation is not None and conversation.model == chosen)


@pytest.mark.parametrize(("keys", "chosen"), [([*"one", "enter"], 0), (["down", "enter"], 1)])
async def test_a_session_is_opened(home: Path, keys: list[str], chosen: int) -> None:
    handles = await keep(home, "One", "Two", "Three")
    async with runtime_of(home) as runtime:
        app = Stage(screen := SessionsScreen(runtime.library))
        async with app.run_test(size=(100, 30)) as pilot:
            await until(pilot, lambda: len(screen.browser.loaded) == 3)
            burst(pilot, *keys)
            await until(pilot, lambda: app.given)
    assert app.given == [handles[chosen]]


async def test_a_question_is_brought_back(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        for number, said in enumerate(("first", "second", "third"), 1):
            server.script("Yes.")
            await chat.send(said)
            await chat.answered(number)
        await chat.pilot.press("ctrl+r")
        await until(
            chat.pilot,
            lambda: isinstance(chat.app.screen, RecallSearchScreen) and len(chat.app.screen.matching) == 3,
        )
        burst(chat.pilot, "s", "down", "enter")
        await until(chat.pilot, lambda: chat.screen.composer.text == "first")


async def test_a_setting_is_found_and_changed(home: Path, server: OllamaServer) -> None:
    async with chatting(home, server.url) as chat:
        await chat.ready()
        await chat.send("/settings")
        await until(
            chat.pilot,
            lambda: isinstance(chat.app.screen, SettingsScreen) and chat.app.screen.selected is not None,
        )
        burst(chat.pilot, *"num_ctx", "enter", *"8192", "enter")
        await until(chat.pilot, lambda: chat.screen.launch.settings.ollama.num_ctx == 8192)
