"""What the word at a cursor may become: a command, an argument of one, or a file behind an ``@``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.tui.commands import COMMANDS, Command
from local_agent.tui.widgets.completion import Offer
from local_agent.workspace.index import Matches
from local_agent.workspace.mentions import word_at, written_path

MOST = 30
_ARGUMENT = re.compile(r'(?:^|(?<=\s))(?P<word>"(?:[^"\\]|\\.)*|(?:[^\s"\\]|\\.)*)\Z')
_PLAIN = re.compile(r"[\w@%+=:,./~-]+")


class Place(NamedTuple):
    """Columns of the line that the cursor is in, and what is typed there."""

    start: int
    end: int
    query: str
    command: Command | None = None
    """The command whose argument it is."""
    mention: bool = False


def place_at(line: str, column: int, *, only: bool) -> Place | None:
    """What stands at a cursor that something can be offered for; ``only``: there is no other line."""
    if (mention := word_at(line, column)) is not None:
        return Place(*mention, mention=True)
    if not only or column != len(line) or not line.startswith("/"):
        return None
    name, space, typed = line.partition(" ")
    if not space:
        return Place(0, column, line)
    command = next((each for each in COMMANDS if name[1:].lower() in (each.name, *each.aliases)), None)
    argument = _ARGUMENT.search(typed)
    if command is None or command.completer is None or argument is None:
        return None
    word = argument["word"]
    return Place(column - len(word), column, re.sub(r"\\(.)", r"\1", word.removeprefix('"')), command)


def command_offers(typed: str) -> list[Offer]:
    """Commands, with what they do."""
    return [
        Offer(f"/{command.name} ", command.usage, command.summary, sends=not command.least)
        for command in COMMANDS.complete(typed)
    ]


def argument_offers(words: Sequence[str]) -> list[Offer]:
    """Arguments as they are typed; a folder is gone into, not taken."""
    return [
        Offer(_quoted(word), one_line(word), sends=not word.endswith("/"), is_path="/" in word)
        for word in words
    ]


def file_offers(matches: Matches) -> list[Offer]:
    """Files and folders behind an ``@``."""
    return [Offer(f"@{written_path(path)}", one_line(path), is_path=True) for path in matches.paths]


def files_note(matches: Matches) -> str:
    """What a person should know of how the folder was looked through."""
    if matches.building and not matches.whole:
        return f"looking through the folder: {matches.known:,} names so far"
    if not matches.whole:
        return f"only the first {matches.known:,} names of this folder are looked through"
    return ""


def _quoted(word: str) -> str:
    if _PLAIN.fullmatch(word):
        return word
    inside = word.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{inside}' if word.endswith("/") else f'"{inside}"'
