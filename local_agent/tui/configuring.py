"""Settings that a person changes on the screen: kept in their config.yaml, in force where that can be."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_agent.config.load import LoadedSettings, load_settings
from local_agent.config.settings import settings_keys
from local_agent.domain.errors import ConfigError, UsageError
from local_agent.domain.text import one_line
from local_agent.tui.look.themes import BY_SETTING, known_themes, theme_named
from local_agent.tui.setting_values import effect, flags_over, origin_words, outranks, written
from local_agent.tui.widgets.phase import PhaseLine

if TYPE_CHECKING:
    from local_agent.config.settings import Settings
    from local_agent.tui.screens.doors import Doors


class Configuring:
    """Reads the files anew each time: somebody may have an editor open on them."""

    def __init__(self, screen: Doors) -> None:
        self._screen = screen

    @property
    def file(self) -> Path:
        """Where changes go."""
        return self._screen.launch.paths.config_file

    async def load(self) -> LoadedSettings:
        """What would be in force at a start from here, and where each value comes from.

        Raises ``ConfigError`` for a broken file.
        """
        launch = self._screen.launch
        loaded = await asyncio.to_thread(load_settings, launch.paths, launch.options.workspace)
        return flags_over(loaded, launch.options)

    async def change(self, name: str, value: Any) -> str:
        """Set a key to a checked plain value, or back to its default (None); what there is to say about it.

        Raises ``ConfigError`` where another place wins over the person's file, or the file can't be changed.
        """
        from local_agent.config.edit import write_setting  # yaml and pydantic: only where something changes

        origin = (await self.load()).origins[name]
        if outranks(origin, self.file):
            words = origin_words(origin, self.file)
            raise ConfigError(f"{name} is set by {words}, which wins over your config.yaml.")
        await asyncio.to_thread(write_setting, self.file, settings_keys(), name, value)
        loaded = await self.load()
        self._put_in_force(name, loaded.settings)
        said = "is back at its default" if value is None else f"is {written(loaded.settings.value(name))}"
        return one_line(f"{name} {said}, {effect(name)}.")

    def show(self) -> None:
        """Open the settings screen."""
        from local_agent.tui.screens.settings import SettingsScreen

        self._screen.app.push_screen(SettingsScreen(self, glyphs=self._screen.glyphs))

    async def choose_theme(self, name: str | None) -> None:
        """Wear a theme, and wear it at the next start too; None asks which. Raises ``UsageError``."""
        known = known_themes()
        if self._screen.app.no_color:
            raise UsageError(
                "NO_COLOR is set: nothing is drawn in colour.", "Start without it to choose a theme."
            )
        if name is None:
            from local_agent.tui.screens.themes import ThemesScreen

            chooser = ThemesScreen(self._screen.app.theme, glyphs=self._screen.glyphs)
            name = await self._screen.app.push_screen_wait(chooser)
            if name is None:
                return
        name = BY_SETTING.get(name, name)
        if name not in known:
            raise UsageError(f"There is no theme {one_line(name, 40)}.", f"There are {', '.join(known)}.")
        self._screen.app.theme = name
        try:
            await self.change("ui.theme", name)
        except ConfigError as error:
            self._screen.notify_line(f"{name} is worn until you leave. {error}", "warning")
        else:
            self._screen.notify_line(f"The theme is {name}, at the next start too.")

    def _put_in_force(self, name: str, settings: Settings) -> None:
        screen = self._screen
        screen.launch = screen.launch._replace(settings=settings)
        if screen.runtime is not None:
            screen.runtime.adopt(settings, screen.conversation)
        if name == "ui.motion":
            moving = settings.ui.motion != "reduced"
            screen.app.animation_level = "full" if moving else "none"
            for phase in screen.query(PhaseLine):
                phase.set_moving(moving)
        elif name == "ui.theme" and not screen.app.no_color:
            screen.app.theme = theme_named(settings.ui.theme)
        screen.show_facts()
