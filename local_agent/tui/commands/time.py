"""Commands that name a place of the conversation, and that lead back and forth."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

from local_agent.domain.errors import UsageError
from local_agent.domain.moves import Scope
from local_agent.domain.text import one_line
from local_agent.tui.commands.table import COMMANDS

WAYS = {f"--{scope}": scope for scope in Scope}
LARGEST_ID = 2**63 - 1

_NUMBER = re.compile(r"[1-9][0-9]*", re.ASCII)
_HINT = "[--conversation|--files|--both]"


class _Travelling(Protocol):
    async def checkpoint(self, label: str) -> None: ...

    async def checkpoints(self) -> None: ...

    async def restore(self, checkpoint_id: int, scope: Scope | None = None) -> None: ...

    async def undo(self, scope: Scope | None = None) -> None: ...

    async def redo(self, scope: Scope | None = None) -> None: ...

    async def settle(self) -> bool: ...


class _Screen(Protocol):
    @property
    def travelling(self) -> _Travelling: ...


async def _ways(screen: object, typed: str) -> Sequence[str]:
    return [way for way in WAYS if way.startswith(typed)]


@COMMANDS.command("checkpoint", "Name this place of the conversation, to come back to it", hint="[LABEL]")
async def checkpoint(screen: _Screen, *label: str) -> None:
    await screen.travelling.checkpoint(" ".join(label))


@COMMANDS.command("checkpoints", "The places that were named, what changed since, the way back")
async def checkpoints(screen: _Screen) -> None:
    await screen.travelling.checkpoints()


@COMMANDS.command(
    "restore",
    "Go back to a checkpoint: the conversation, the files or both",
    f"[ID] {_HINT}",
    completer=_ways,
)
async def restore(screen: _Screen, *words: str) -> None:
    numbers, scope = read_way(words, f"/restore ID {_HINT}")
    if not words and await screen.travelling.settle():
        return
    if len(numbers) != 1:
        raise UsageError("Which checkpoint? /checkpoints shows them.", f"Usage: /restore ID {_HINT}")
    await screen.travelling.restore(checkpoint_id(numbers[0]), scope)


@COMMANDS.command("undo", "Take back the last turn or move", _HINT, completer=_ways)
async def undo(screen: _Screen, *words: str) -> None:
    await screen.travelling.undo(only_way(words, "undo"))


@COMMANDS.command("redo", "Do again what was undone last", _HINT, completer=_ways)
async def redo(screen: _Screen, *words: str) -> None:
    await screen.travelling.redo(only_way(words, "redo"))


def checkpoint_id(word: str) -> int:
    """The number of a checkpoint as it is shown; raises ``UsageError`` for any other word."""
    if not _NUMBER.fullmatch(word):
        line = f"{one_line(word, 40)!r} is no checkpoint's number, such as 12. /checkpoints shows them."
        raise UsageError(line, f"Usage: /restore ID {_HINT}")
    # Of more digits than Python reads as a number.
    if len(word) > len(str(LARGEST_ID)) or int(word) > LARGEST_ID:
        line = f"This session has no checkpoint {one_line(word, 40)}."
        raise UsageError(line, "See those it has: /checkpoints")
    return int(word)


def read_way(words: Sequence[str], usage: str) -> tuple[list[str], Scope | None]:
    """The words that are no flag, and what goes; raises ``UsageError`` for another flag, or two."""
    flags = [word for word in words if word.startswith("--")]
    unknown = next((flag for flag in flags if flag not in WAYS), None)
    if unknown is not None:
        raise UsageError(f"There is no {one_line(unknown, 40)} here.", f"Usage: {usage}")
    if len(flags) > 1:
        raise UsageError(f"{' and '.join(flags[:2])}: one of them.", f"Usage: {usage}")
    scope = WAYS[flags[0]] if flags else None
    return [word for word in words if not word.startswith("--")], scope


def only_way(words: Sequence[str], name: str) -> Scope | None:
    """What goes, for a command that takes nothing else."""
    usage = f"/{name} {_HINT}"
    others, scope = read_way(words, usage)
    if others:
        raise UsageError(
            f"/{name} goes by one step; {one_line(others[0], 40)!r} is too much.", f"Usage: {usage}"
        )
    return scope
