"""Commands about what is being written, what waits, and what was asked before."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Protocol

from local_agent.domain.errors import UsageError
from local_agent.tui.commands.screen import CommandScreen
from local_agent.tui.commands.table import COMMANDS
from local_agent.tui.launch import Launch
from local_agent.tui.prompt.pasted_paths import PICTURE_ENDINGS
from local_agent.tui.prompt.path_words import path_words

_WORDS = ("paste", "show", "list", "clear", "forget-history")


class _Started(Protocol):
    launch: Launch


async def _pictures(screen: _Started, typed: str) -> Sequence[str]:
    words = [word for word in _WORDS if typed and word.startswith(typed)]
    folder = screen.launch.options.workspace
    return words + await asyncio.to_thread(path_words, typed, folder, PICTURE_ENDINGS)


@COMMANDS.command("history", "Search what you asked before", hint="[WORDS]")
async def history(screen: CommandScreen, *words: str) -> None:
    screen.composing.search(" ".join(words))


@COMMANDS.command("queue", "Look at the prompts that wait: edit, move, remove them")
async def queue(screen: CommandScreen) -> None:
    screen.composing.queue()


@COMMANDS.command(
    "image",
    "Attach pictures to the next prompt",
    hint="PATH|paste|show|list|clear|forget-history",
    aliases=("attach",),
    completer=_pictures,
)
async def image(screen: CommandScreen, first: str, *more: str) -> None:
    match (first, *more):
        case ("show",):
            screen.attaching.show()
        case ("list",):
            screen.attaching.list()
        case ("clear",):
            screen.attaching.clear()
        case ("paste",):
            await screen.attaching.clipboard()
        case ("forget-history",):
            await screen.attaching.forget_history()
        case (word, *_) if word in _WORDS:
            raise UsageError(f"/image {word} takes no arguments.", f"A file of this name: /image ./{word}")
        case paths:
            await screen.attaching.paths(paths)
