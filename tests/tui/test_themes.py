"""Text can be read on whatever it stands on, in both themes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from textual.color import Color
from textual.screen import Screen
from textual.theme import Theme

from local_agent.domain.entries import ErrorRecord
from local_agent.tui.screens.errors import ErrorsScreen
from local_agent.tui.screens.held import HeldDialog
from local_agent.tui.screens.help import HelpScreen, KeyHelp
from local_agent.tui.screens.runtime import RuntimeScreen
from local_agent.tui.screens.sessions import SessionsScreen
from local_agent.tui.screens.stop_turn import StopTurnDialog
from local_agent.tui.themes import DARK, LIGHT, theme_named
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage, contrast, keep, lowest_contrast, runtime_of
from tests.tui.test_dialogs import HOLDER

READABLE = 4.5
TEXTS = ("text", "text-muted", "text-disabled", "text-primary", "text-success", "text-warning", "text-error")
GROUNDS = ("background", "surface", "panel", "block-hover-background", "block-cursor-background")


@pytest.mark.parametrize("theme", [DARK, LIGHT], ids=lambda theme: theme.name)
def test_every_text_colour_on_every_ground(theme: Theme) -> None:
    colors = theme.to_color_system().generate()
    too_weak = {
        (text, ground): round(ratio, 2)
        for text in TEXTS
        for ground in GROUNDS
        if (ratio := contrast(Color.parse(colors[text]), Color.parse(colors[ground]))) < READABLE
    }
    assert not too_weak


def test_there_is_one_accent_colour() -> None:
    for theme in (DARK, LIGHT):
        assert theme.primary == theme.secondary == theme.accent


async def failure_trail() -> list[ErrorRecord]:
    return [ErrorRecord("generation", "The server is gone.", "raw", "What?", "tiny:1b", "ollama")]


async def some_facts() -> Mapping[str, Mapping[str, object]]:
    return {"Model": {"name": "tiny:1b", "loaded": True, "digest": None}}


SCREENS: list[tuple[Callable[[], Screen[object]], str]] = [
    (lambda: ErrorsScreen(failure_trail), "The server is gone."),
    (lambda: RuntimeScreen(some_facts), "tiny:1b"),
    (lambda: HelpScreen([KeyHelp("enter", "Send")]), "Send"),
    (lambda: HeldDialog("a1b2c3d", HOLDER), "a1b2c3d"),
    (StopTurnDialog, "let it run"),
]


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
@pytest.mark.parametrize(("make", "shows"), SCREENS)
async def test_every_letter_on_the_screens(
    make: Callable[[], Screen[object]], shows: str, theme: str
) -> None:
    app = Stage(make(), theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shows in screen_text(pilot))
        ratio, text = lowest_contrast(app)
        assert ratio >= READABLE, text


@pytest.mark.parametrize("theme", [DARK.name, LIGHT.name])
async def test_every_letter_of_the_picker(home: Path, theme: str) -> None:
    await keep(home, "One", "Two with [markup]")
    async with runtime_of(home) as runtime:
        app = Stage(SessionsScreen(runtime), theme)
        async with app.run_test(size=(120, 30)) as pilot:
            await pilot.press("o")
            await until(pilot, lambda: "On About" in screen_text(pilot))
            ratio, text = lowest_contrast(app)
            assert ratio >= READABLE, text


@pytest.mark.parametrize(
    ("setting", "name"),
    [("dark", "ink"), ("light", "paper"), ("paper", "paper"), ("nord", "nord"), ("no such theme", "ink")],
)
def test_a_setting_names_a_theme(setting: str, name: str) -> None:
    assert theme_named(Stage(StopTurnDialog()), setting) == name
