"""The command that copies."""

from __future__ import annotations

from collections.abc import Sequence

from local_agent.domain.errors import UsageError
from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS

_HINT = "[N|code [N]]"


async def _code(screen: CommandScreen, typed: str) -> Sequence[str]:
    return ["code"] if "code".startswith(typed.lower()) else []


@COMMANDS.command(
    "copy",
    "Copy the last answer, the Nth from the end, or code of the last one",
    hint=_HINT,
    completer=_code,
)
async def copy(screen: CommandScreen, what: str = "1", number: str = "") -> None:
    if what.lower() == "code":
        await screen.copying.code(_number(number) if number else None)
    elif number:
        raise UsageError("Only code takes a second argument.", f"Usage: /copy {_HINT}")
    else:
        await screen.copying.answer(_number(what))


def _number(word: str) -> int:
    if not word.isdecimal() or len(word) > 9 or not int(word):
        raise UsageError("/copy takes a number from 1 on, or code.", f"Usage: /copy {_HINT}")
    return int(word)
