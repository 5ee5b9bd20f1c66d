"""The command palette of the running program: everything is in it, with its key, and works from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from textual.command import CommandPalette
from textual.pilot import Pilot
from textual.widgets import OptionList

from local_agent.config.launch import LaunchOptions
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.commands import COMMANDS
from local_agent.tui.screens.models import ModelsScreen
from local_agent.tui.screens.sessions import SessionsScreen
from tests.runtime.opened import paths_in, settings_for
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.tui.pilots import screen_text, until
from tests.tui.stage import workspace_of


@asynccontextmanager
async def palette(home: Path) -> AsyncIterator[tuple[LocalAgentApp, Pilot[Any], Callable[[], list[str]]]]:
    """The program with its palette open, and what stands in it."""
    workspace = Path(workspace_of(home))
    async with OllamaServer(models=[ModelSpec("tiny:1b")]) as server:
        app = LocalAgentApp(LaunchOptions(workspace=workspace), settings_for(server.url), paths_in(home))
        async with app.run_test(size=(100, 60)) as pilot:
            await until(pilot, lambda: app.chat.conversation)
            await pilot.press("ctrl+p")

            def lines() -> list[str]:
                if not isinstance(app.screen, CommandPalette):
                    return []
                return [str(option.prompt) for option in app.screen.query_one(OptionList).options]

            await until(pilot, lines)
            yield app, pilot, lines
            await app.chat.leave()


async def test_it_has_every_command_every_key_and_every_theme(home: Path) -> None:
    async with palette(home) as (app, pilot, lines):
        await until(pilot, lambda: any("Theme: ansi-light" in line for line in lines()))
        shown = lines()
        for command in COMMANDS:
            assert any(command.summary in line and command.usage in line for line in shown), command.name
        assert any(line.endswith("/sessions  ctrl+s") for line in shown)
        assert any(line.startswith("Quit") and line.endswith("ctrl+q") for line in shown)
        for theme in app.available_themes:
            assert f"Theme: {theme}" in shown


async def test_a_command_is_carried_out(home: Path) -> None:
    async with palette(home) as (app, pilot, lines):
        await pilot.press(*"/sessions")
        await until(pilot, lambda: lines() and "/sessions" in lines()[0])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, SessionsScreen))
        await pilot.press("escape")


async def test_one_that_asks_waits_for_its_answer(home: Path) -> None:
    async with palette(home) as (app, pilot, lines):
        await pilot.press(*"the model that answers")
        await until(pilot, lambda: lines() and "/model" in lines()[0])
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ModelsScreen))
        await pilot.press("escape")


async def test_one_that_wants_an_argument_is_put_into_the_composer(home: Path) -> None:
    async with palette(home) as (app, pilot, lines):
        await pilot.press(*"/rename")
        await until(pilot, lambda: lines() and "/rename" in lines()[0])
        await pilot.press("enter")
        await until(pilot, lambda: app.chat.composer.text == "/rename ")


async def test_a_theme_is_put_on(home: Path) -> None:
    async with palette(home) as (app, pilot, lines):
        await pilot.press(*"theme: paper")
        await until(pilot, lambda: lines() and lines()[0] == "Theme: paper")
        await pilot.press("enter")
        await until(pilot, lambda: app.theme == "paper")
        assert "Theme" not in screen_text(pilot)
