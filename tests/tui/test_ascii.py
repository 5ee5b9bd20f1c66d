"""With ASCII signs nothing but ASCII is drawn, texts of others apart."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.app import App

from local_agent.config.launch import LaunchOptions
from local_agent.config.settings import UISettings
from local_agent.tui.app import LocalAgentApp
from tests.runtime.opened import paths_in, settings_for
from tests.tui.pilots import screen_text, until
from tests.tui.stage import NOBODY_THERE, keep, workspace_of


def foreign(app_text: str) -> set[str]:
    return {char for char in app_text if not char.isascii()}


@pytest.fixture
async def app(home: Path) -> App[object]:
    await keep(home, "One", "Two")
    settings = replace(settings_for(NOBODY_THERE), ui=UISettings(glyphs="ascii"))
    return LocalAgentApp(LaunchOptions(workspace=Path(workspace_of(home))), settings, paths_in(home))


@pytest.mark.parametrize(
    ("key", "shows"),
    [("ctrl+s", "On About Two?"), ("f1", "Keys"), ("f2", "Database"), ("ctrl+o", "Models")],
)
async def test_a_screen(app: LocalAgentApp, key: str, shows: str) -> None:
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.chat.conversation)
        await pilot.press(key)
        await until(pilot, lambda: shows in screen_text(pilot))
        assert not foreign(screen_text(pilot))
        await app.chat.leave()
