"""The settings screen and the theme chooser in the running program: what they show, write and refuse."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from local_agent.config.load import PROJECT_FILE, load_settings
from local_agent.config.settings import settings_keys
from local_agent.tui.screens.settings import SettingsScreen
from local_agent.tui.screens.themes import ThemesScreen
from local_agent.tui.setting_values import effect, typed_form, written
from tests.config.test_load import VALUES
from tests.runtime.opened import paths_in
from tests.support.ollama_server import ModelSpec, OllamaServer
from tests.tui.chatting import Chat, chatting
from tests.tui.pilots import screen_text, until

MINE = "# mine\nui:\n  motion: full  # I like it\n"


@asynccontextmanager
async def program(
    home: Path, *, own: str | None = None, size: tuple[int, int] = (100, 30), **options: object
) -> AsyncIterator[Chat]:
    """The program as it starts with these files."""
    file = paths_in(home).config_file
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if own is not None:
        file.write_text(own)
    async with OllamaServer(models=[ModelSpec("tiny:1b")]) as server:
        settings = load_settings(
            paths_in(home), home.parent / "api-server", {"OLLAMA_HOST": server.url}
        ).settings
        async with chatting(home, server.url, size=size, settings=settings, **options) as chat:
            await chat.ready()
            yield chat


async def opened(chat: Chat) -> SettingsScreen:
    """The settings screen, with its rows."""
    await chat.send("/settings")
    await until(chat.pilot, lambda: isinstance(chat.app.screen, SettingsScreen))
    screen = chat.app.screen
    assert isinstance(screen, SettingsScreen)
    await until(chat.pilot, lambda: screen.selected)
    return screen


async def find(chat: Chat, screen: SettingsScreen, words: str) -> None:
    """Narrow the list to one key."""
    screen.filter_input.value = ""
    await chat.type(words)
    await until(chat.pilot, lambda: screen.selected and screen.selected.name == words)


def said(chat: Chat) -> str:
    return " ".join(screen_text(chat.pilot).split())


async def test_every_key_is_there_with_its_value_origin_and_effect(home: Path) -> None:
    async with program(home, own=MINE, size=(120, 40)) as chat:
        await opened(chat)
        shown = screen_text(chat.pilot)
        for name in settings_keys():
            assert name in shown
        assert "your config, line 3" in shown
        await chat.type("motion")
        await until(chat.pilot, lambda: "ollama.host" not in screen_text(chat.pilot))
        assert "default: full · counts at once · full or reduced" in said(chat)


async def test_a_choice_is_taken_written_and_in_force(home: Path) -> None:
    async with program(home, own=MINE) as chat:
        screen = await opened(chat)
        await find(chat, screen, "ui.motion")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "ui.motion is reduced, at once." in said(chat))
        assert paths_in(home).config_file.read_text() == MINE.replace("full", "reduced", 1)
        assert chat.app.animation_level == "none"
        await find(chat, screen, "ui.vi")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "ui.vi is true" in said(chat))
        assert chat.app.chat.launch.settings.ui.vi
        await chat.pilot.press("f8")
        await until(chat.pilot, lambda: "ui.vi is back at its default" in said(chat))
        assert paths_in(home).config_file.read_text() == MINE.replace("full", "reduced", 1)


async def test_a_value_is_typed_and_counts_from_the_next_turn_on(home: Path) -> None:
    async with program(home, own="") as chat:
        screen = await opened(chat)
        await find(chat, screen, "ollama.num_ctx")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: screen.editing)
        await chat.type("12")
        await chat.pilot.press("enter")
        wrong = f"ollama.num_ctx must be {settings_keys()['ollama.num_ctx'].rule.expects}, not 12."
        await until(chat.pilot, lambda: wrong in said(chat))
        assert screen.editing
        assert paths_in(home).config_file.read_text() == ""
        await chat.type("288")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "is 12288, from the next turn on." in said(chat))
        assert chat.screen.conversation is not None
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.screen.conversation.window == 12288


async def test_esc_leaves_a_value_and_an_empty_one_is_the_default(home: Path) -> None:
    async with program(home, own="model: {max_output: 99}\n") as chat:
        screen = await opened(chat)
        await find(chat, screen, "model.max_output")
        await chat.pilot.press("enter", *"77", "escape")
        await until(chat.pilot, lambda: not screen.editing)
        assert paths_in(home).config_file.read_text() == "model: {max_output: 99}\n"
        await chat.pilot.press("enter", "ctrl+u", "enter")
        await until(chat.pilot, lambda: "back at its default" in said(chat))
        assert paths_in(home).config_file.read_text() == "model: {}\n"


async def test_another_origin_wins_and_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_AGENT_GLYPHS", "unicode")
    workspace = home.parent / "api-server"
    workspace.mkdir(parents=True)
    (workspace / PROJECT_FILE).write_text("ui:\n  motion: full\n")
    async with program(home, own="", model="tiny:1b") as chat:
        screen = await opened(chat)
        for name, where in (
            ("ui.motion", "local-agent.yaml, line 2"),
            ("ui.glyphs", "LOCAL_AGENT_GLYPHS"),
            ("ollama.model", "the flag --model"),
        ):
            await find(chat, screen, name)
            for key in ("enter", "f8"):
                await chat.pilot.press(key)
                await until(
                    chat.pilot,
                    lambda name=name, where=where: f"{name} is set by {where}, which wins" in said(chat),  # type: ignore[misc]  # mypy wants no defaults
                )
        assert paths_in(home).config_file.read_text() == ""


async def test_a_file_that_broke_meanwhile_is_left_alone_and_read_again(home: Path) -> None:
    async with program(home, own=MINE) as chat:
        screen = await opened(chat)
        file = paths_in(home).config_file
        file.write_text("ui: [\n")
        await find(chat, screen, "ui.vi")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: "no valid YAML" in said(chat))
        assert file.read_text() == "ui: [\n"
        await chat.pilot.press("f5")
        await until(chat.pilot, lambda: screen.selected is None)
        file.write_text(MINE)
        await chat.pilot.press("f5")
        await until(chat.pilot, lambda: screen.selected)


async def test_a_theme_is_tried_on_left_and_kept(home: Path) -> None:
    async with program(home, own=MINE) as chat:
        await chat.send("/theme ")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ThemesScreen))
        await chat.pilot.press("down")
        await until(chat.pilot, lambda: chat.app.theme == "ember")
        await chat.pilot.press("escape")
        await until(chat.pilot, lambda: chat.app.screen is chat.screen)
        assert chat.app.theme == "ink"
        assert paths_in(home).config_file.read_text() == MINE
        await chat.send("/theme ")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ThemesScreen))
        await chat.pilot.press("down", "down", "enter")
        await until(chat.pilot, lambda: "theme: moss" in paths_in(home).config_file.read_text())
        assert chat.app.theme == "moss"
        await chat.send("/theme chalk")
        await until(chat.pilot, lambda: "theme: chalk" in paths_in(home).config_file.read_text())
        assert chat.app.theme == "chalk"
        await chat.send("/theme nord")
        await until(chat.pilot, lambda: any("There is no theme nord" in line for line in chat.remarks))


async def test_a_project_s_theme_wins_and_is_said(home: Path) -> None:
    workspace = home.parent / "api-server"
    workspace.mkdir(parents=True)
    (workspace / PROJECT_FILE).write_text("ui: {theme: linen}\n")
    async with program(home, own=MINE) as chat:
        assert chat.app.theme == "linen"
        await chat.send("/theme tide")
        await until(chat.pilot, lambda: any("tide is worn until you leave" in line for line in chat.remarks))
        assert "local-agent.yaml, line 1, which wins" in chat.remarks[-1]
        assert chat.app.theme == "tide"
        assert paths_in(home).config_file.read_text() == MINE


async def test_the_theme_is_chosen_from_the_settings_too(home: Path) -> None:
    async with program(home, own="") as chat:
        screen = await opened(chat)
        await find(chat, screen, "ui.theme")
        await chat.pilot.press("enter")
        await until(chat.pilot, lambda: isinstance(chat.app.screen, ThemesScreen))
        await chat.pilot.press("end", "enter")
        await until(chat.pilot, lambda: "ui.theme is ansi-light, at once." in said(chat))
        assert chat.app.theme == "ansi-light"
        await chat.pilot.press("f8")
        await until(chat.pilot, lambda: chat.app.theme == "ink")


async def test_without_colours_there_is_no_theme_to_choose(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with program(home, own=MINE) as chat:
        before = chat.app.theme
        await chat.send("/theme tide")
        await until(chat.pilot, lambda: any("NO_COLOR" in line for line in chat.remarks))
        assert chat.app.theme == before
        assert paths_in(home).config_file.read_text() == MINE


def test_every_value_is_written_as_it_is_typed() -> None:
    from local_agent.config.edit import typed_value

    for name, (_, value, _) in VALUES.items():
        typed = typed_value(settings_keys()[name], typed_form(value))
        assert written(typed) == written(value)


def test_every_key_says_from_when_on_it_counts() -> None:
    said_of = {name: effect(name) for name in settings_keys()}
    assert said_of["ui.theme"] == "at once"
    assert said_of["ollama.num_ctx"] == said_of["model.thinking"] == "from the next turn on"
    assert said_of["ollama.host"] == said_of["ui.mouse"] == "after a restart"
