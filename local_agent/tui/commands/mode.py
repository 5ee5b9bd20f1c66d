"""Commands about how much the model may do by itself, and what it means to do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from local_agent.domain.errors import UsageError
from local_agent.domain.modes import Mode
from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS


class _Tooling(Protocol):
    async def set_mode(self, mode: Mode | None) -> None: ...

    def fold_todo(self) -> None: ...


class HandedScreen(CommandScreen, Protocol):
    """A screen whose model has tools."""

    @property
    def tooling(self) -> _Tooling: ...


async def _modes(screen: HandedScreen, typed: str) -> Sequence[str]:
    return [mode for mode in Mode if mode.startswith(typed.upper())] if typed else []


@COMMANDS.command(
    "mode", "Let the model do less or more by itself", hint="[NORMAL|PLAN|AUTO]", completer=_modes
)
async def mode(screen: HandedScreen, name: str = "") -> None:
    if name and name.upper() not in list(Mode):
        raise UsageError(f"There is no mode {name}.", "Usage: /mode [NORMAL|PLAN|AUTO]")
    await screen.tooling.set_mode(Mode(name.upper()) if name else None)


@COMMANDS.command("todo", "Fold the list of what is to be done, or show all of it")
async def todo(screen: HandedScreen) -> None:
    screen.tooling.fold_todo()
