"""Commands for how the program looks and what it is set to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS

if TYPE_CHECKING:
    from local_agent.tui.configuring import Configuring


class ConfigurableScreen(CommandScreen, Protocol):
    """A screen whose program can be set up from it."""

    @property
    def configuring(self) -> Configuring: ...


# Names are not completed: Enter would take the first one instead of opening the chooser.
@COMMANDS.command("theme", "Choose how the screens look, and see it at once", hint="[NAME]")
async def theme(screen: ConfigurableScreen, name: str = "") -> None:
    await screen.configuring.choose_theme(name or None)


@COMMANDS.command("settings", "See every setting and where it comes from, and change it", aliases=("config",))
async def settings(screen: ConfigurableScreen) -> None:
    screen.configuring.show()
