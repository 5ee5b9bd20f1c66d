"""Text can be read on whatever it stands on, in every theme."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from textual.color import Color

from local_agent.config.settings import settings_keys
from local_agent.tui.look.themes import (
    BY_SETTING,
    HIGH_CONTRAST,
    PALETTES,
    Palette,
    known_themes,
    theme_named,
)
from local_agent.tui.screens.stop_turn import StopTurnDialog
from tests.tui.every_screen import conversation, on_screen, still
from tests.tui.stage import Stage, contrast, lowest_contrast

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


async def test_every_letter_of_what_is_drawn_in_every_theme(home: Path) -> None:
    """The other screens are made of the same colours; ``test_sizes`` reads them all in the usual two."""
    weak: list[str] = []
    async with conversation(home, size=(120, 36)) as (app, pilot):
        for name in ("ChatScreen", "SessionsScreen", "SettingsScreen refusing", "HeldDialog"):
            async with on_screen(app, pilot, name):
                for palette in PALETTES:
                    app.theme = palette.name
                    await still(pilot)
                    least = HIGHEST if palette.name in HIGH_CONTRAST else READABLE
                    ratio, text = lowest_contrast(app)
                    if ratio < least:
                        weak.append(f"{name} in {palette.name}: {text!r} has a contrast of {ratio:.1f}")
    assert not weak, "\n".join(weak)


@pytest.mark.parametrize(
    ("setting", "name"),
    [(None, "ink"), ("dark", "ink"), ("light", "paper"), ("paper", "paper"), ("ansi-dark", "ansi-dark")],
)
def test_a_setting_names_a_theme(setting: str | None, name: str) -> None:
    assert theme_named(setting) == name
