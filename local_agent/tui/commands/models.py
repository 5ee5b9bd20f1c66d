"""Commands about models: which one answers, how much it thinks, fetching and unloading."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS

if TYPE_CHECKING:
    from local_agent.tui.models.actions import Models


class ModelScreen(CommandScreen, Protocol):
    """A screen on which a model answers."""

    @property
    def models(self) -> Models: ...


async def _names(screen: ModelScreen, typed: str) -> Sequence[str]:
    return await screen.models.names(typed)


async def _names_and_words(screen: ModelScreen, typed: str) -> Sequence[str]:
    words = [word for word in ("auto", "list") if word.startswith(typed.lower())]
    return [*await screen.models.names(typed), *words]


async def _ways(screen: CommandScreen, typed: str) -> Sequence[str]:
    from local_agent.tui.models.thinking_modes import WORDS

    return [word for word in WORDS if word.startswith(typed.lower())]


@COMMANDS.command(
    "model", "Choose the model that answers", hint="[NAME|auto|list]", completer=_names_and_words
)
async def model(screen: ModelScreen, name: str = "") -> None:
    if name.lower() == "auto":
        await screen.models.choose_auto()
    elif name and name.lower() != "list":
        await screen.models.choose(name)
    else:
        await screen.models.pick()


@COMMANDS.command(
    "think", "Say how much the model thinks first", hint="[on|off|low|medium|high|auto]", completer=_ways
)
async def think(screen: ModelScreen, how: str = "") -> None:
    screen.models.think(how)


@COMMANDS.command("pull", "Fetch a model, or look at the one that is coming", hint="[NAME]")
async def pull(screen: ModelScreen, name: str = "") -> None:
    await screen.models.pull(name)


@COMMANDS.command("unload", "Free the memory that a model takes", hint="[NAME]", completer=_names)
async def unload(screen: ModelScreen, name: str = "") -> None:
    await screen.models.unload(name)
