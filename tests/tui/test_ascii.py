"""With ASCII signs nothing but ASCII is drawn, and without colours no colour, on every screen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from rich.style import Style
from textual.app import App

from local_agent.tui.look.glyphs import ASCII, UNICODE, Glyphs, choose_glyphs
from tests.tui.every_screen import OPENERS, conversation, on_screen
from tests.tui.pilots import screen_text


@pytest.mark.parametrize("part", range(2))
async def test_every_screen_in_ascii_and_without_colours(
    home: Path, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    problems: list[str] = []
    async with conversation(home, size=(80, 24), glyphs="ascii") as (app, pilot):
        for name in list(OPENERS)[part::2]:
            async with on_screen(app, pilot, name):
                foreign = {char for char in screen_text(pilot) if not char.isascii()}
                if foreign:
                    problems.append(f"{name} draws {foreign}:\n{screen_text(pilot)}")
                coloured = {str(style) for style in styles(app) if style.color or style.bgcolor}
                if coloured:
                    problems.append(f"{name} has colours: {sorted(coloured)}")
                if not {"dim", "reverse", "bold"} & {
                    word for style in styles(app) for word in str(style).split()
                }:
                    problems.append(f"{name} tells nothing apart")
    assert not problems, "\n".join(problems)


def styles(app: App[object]) -> set[Style]:
    """All that is drawn with."""
    return {
        segment.style
        for strip in app.screen._compositor.render_strips()
        for segment in strip
        if segment.style is not None
    }


def test_every_sign_has_an_ascii_one() -> None:
    for name in Glyphs._fields:
        assert getattr(ASCII, name).isascii(), name


@pytest.mark.parametrize(
    ("setting", "environment", "glyphs"),
    [
        ("unicode", {"LANG": "C.UTF-8"}, UNICODE),
        ("unicode", {}, UNICODE),
        ("ascii", {"LANG": "C.UTF-8"}, ASCII),
        ("unicode", {"LANG": "de_DE.ISO-8859-1"}, ASCII),
        ("unicode", {"LANG": "C.UTF-8", "LC_ALL": "de_DE.ISO-8859-15@euro"}, ASCII),
        ("unicode", {"LC_ALL": "", "LC_CTYPE": "en_GB.utf8", "LANG": "de_DE.ISO-8859-1"}, UNICODE),
        ("unicode", {"LANG": "C.UTF-8", "TERM": "linux"}, ASCII),
        ("unicode", {"LANG": "POSIX"}, UNICODE),
    ],
)
def test_the_terminal_or_the_person_asks_for_ascii(
    setting: str, environment: Mapping[str, str], glyphs: Glyphs
) -> None:
    assert choose_glyphs(setting, environment) is glyphs
