"""Text can be read on whatever it stands on, in both themes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path

import pytest
from textual.color import Color
from textual.screen import Screen

from local_agent.config.settings import settings_keys
from local_agent.domain.entries import ErrorRecord
from local_agent.tui.screens.errors import ErrorsScreen
from local_agent.tui.screens.held import HeldDialog
from local_agent.tui.screens.help import HelpScreen, KeyHelp
from local_agent.tui.screens.runtime import RuntimeScreen
from local_agent.tui.screens.sessions import SessionsScreen
from local_agent.tui.screens.stop_turn import StopTurnDialog
from local_agent.tui.themes import (
    BY_SETTING,
    DARK,
    HIGH_CONTRAST,
    LIGHT,
    PALETTES,
    Palette,
    known_themes,
    theme_named,
)
from tests.tui.pilots import screen_text, until
from tests.tui.stage import Stage, contrast, keep, lowest_contrast, runtime_of
from tests.tui.test_dialogs import HOLDER

READABLE, HIGHEST = 4.5, 7.0
TEXTS = (
    "text", "text-muted", "text-disabled", "text-primary", "text-success", "text-warning", "text-error",
    "text-accent", "foreground", "code-keyword", "code-string", "code-number", "code-comment",
    "block-cursor-foreground", "footer-description-foreground",
)  # fmt: skip
GROUNDS = ("background", "surface", "panel", "block-hover-background", "block-cursor-background")
SELECTED = [(f"{what}-selection-foreground", f"{what}-selection-background") for what in ("screen", "input")]
SELECTED += [("input-cursor-foreground", "input-cursor-background")]


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_every_text_colour_on_every_ground(palette: Palette) -> None:
    theme = palette.theme()
    colors = theme.to_color_system().generate() | theme.variables
    least = HIGHEST if palette.name in HIGH_CONTRAST else READABLE
    too_weak = {
        (text, ground): round(ratio, 2)
        for text, ground in [*product(TEXTS, GROUNDS), *SELECTED]
        if (ratio := contrast(Color.parse(colors[text]), Color.parse(colors[ground]))) < least
    }
    assert not too_weak


def test_each_theme_is_its_own() -> None:
    darks = [palette for palette in PALETTES if palette.dark]
    lights = [palette for palette in PALETTES if not palette.dark]
    assert (len(darks) >= 4, len(lights) >= 3, len(PALETTES) >= 8) == (True, True, True)
    assert {palette.name for palette in PALETTES} >= set(HIGH_CONTRAST)
    for part in ("name", "character", "grounds", "accent"):
        assert len({getattr(palette, part) for palette in PALETTES}) == len(PALETTES), part
    for palette in PALETTES:
        theme = palette.theme()
        assert theme.primary == theme.secondary == theme.accent


def test_the_settings_know_the_themes() -> None:
    assert set(settings_keys()["ui.theme"].choices) == {*BY_SETTING, *known_themes()}


def test_the_screens_know_no_theme_but_these() -> None:
    assert Stage(StopTurnDialog()).available_themes.keys() == known_themes().keys()


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


@pytest.mark.parametrize("theme", [DARK, LIGHT])
@pytest.mark.parametrize(("make", "shows"), SCREENS)
async def test_every_letter_on_the_screens(
    make: Callable[[], Screen[object]], shows: str, theme: str
) -> None:
    app = Stage(make(), theme)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: shows in screen_text(pilot))
        ratio, text = lowest_contrast(app)
        assert ratio >= READABLE, text


@pytest.mark.parametrize("theme", [DARK, LIGHT])
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
    [(None, "ink"), ("dark", "ink"), ("light", "paper"), ("paper", "paper"), ("ansi-dark", "ansi-dark")],
)
def test_a_setting_names_a_theme(setting: str | None, name: str) -> None:
    assert theme_named(setting) == name
