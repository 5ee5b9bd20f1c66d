"""The table of slash commands, how a typed line is read against it, and what it offers instead."""

from __future__ import annotations

import difflib
import importlib
import inspect
import re
import shlex
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.domain.text import one_line

if TYPE_CHECKING:
    from local_agent.tui.commands.screen import CommandScreen

Handler = Callable[..., Awaitable[None]]

_COMMAND = re.compile(r"/(?P<name>[A-Za-z][\w-]*)?(?=\s|$)")
_APOSTROPHE = re.compile(r'"(?:\\.|[^"\\])*"|(?<=[^\W\d_])(\')(?=[^\W\d_])')
"""One between letters, outside of double quotes: ``Bob's`` begins no quotation."""


Completer = Callable[..., Awaitable[Sequence[str]]]
"""Takes the screen and what is typed: what the argument at the cursor may become, best first. It is quoted
as it is taken."""


class Command(NamedTuple):
    """One row of the table."""

    name: str
    summary: str
    hint: str
    """Its arguments as the usage line shows them, such as ``[NAME]``."""
    aliases: tuple[str, ...]
    handler: Handler
    """Takes the screen and the arguments; a parameter with a default may be left out."""
    least: int
    most: int | None
    """None: any number."""
    completer: Completer | None = None

    @property
    def usage(self) -> str:
        """``/rename TITLE``"""
        return f"/{self.name} {self.hint}".rstrip()


class CommandTable:
    """All commands, in the order in which they are shown.

    ``entered_by`` is the module whose import enters them, and whose ``ORDER`` has their modules: it is loaded
    when the first one is asked for, not before the first paint.
    """

    def __init__(self, entered_by: str = "") -> None:
        self._entered_by = entered_by
        self._by_name: dict[str, Command] = {}
        self._commands: list[Command] = []

    def __iter__(self) -> Iterator[Command]:
        self._load()
        return iter(self._commands)

    def command(
        self,
        name: str,
        summary: str,
        hint: str = "",
        aliases: tuple[str, ...] = (),
        completer: Completer | None = None,
    ) -> Callable[[Handler], Handler]:
        """Enter a coroutine function; how many arguments it takes is read from its signature."""

        def enter(handler: Handler) -> Handler:
            least, most = _counts(handler)
            command = Command(name, summary, hint, aliases, handler, least, most, completer)
            for word in (name, *aliases):
                if word in self._by_name:
                    raise ValueError(f"The command /{word} is already in the table.")
                self._by_name[word] = command
            self._commands.append(command)
            return handler

        return enter

    def parse(self, line: str) -> tuple[Command, list[str]]:
        """Read a line for which ``is_command`` is true. Raises ``UsageError``."""
        self._load()
        match = _COMMAND.match(line.strip())
        name = (match["name"] or "").lower() if match else ""
        command = self._by_name.get(name)
        if match is None or command is None:
            raise UsageError(f"There is no command /{one_line(name, 40)}.", self._offer(name))
        try:
            arguments = _words(line.strip()[match.end() :])
        except ValueError:
            raise UsageError("A quote is left open.", f"Usage: {command.usage}") from None
        if len(arguments) < command.least or (command.most is not None and len(arguments) > command.most):
            raise UsageError(_count_line(command), f"Usage: {command.usage}")
        return command, arguments

    async def run(self, screen: CommandScreen, line: str) -> None:
        """Carry out a typed line; a mistake in it, or a refusal, is shown on the screen as one line."""
        try:
            command, arguments = self.parse(line)
            await command.handler(screen, *arguments)
        except LocalAgentError as error:
            screen.notify_line(str(error), "error")

    def complete(self, text: str) -> list[Command]:
        """Commands that what has been typed so far may become, best first; none once arguments begin."""
        match = _COMMAND.fullmatch(text)
        if match is None:
            return []
        typed = (match["name"] or "").lower()
        return sorted(
            (command for command in self if self._rank(command, typed) is not None),
            key=lambda command: self._rank(command, typed) or 0,
        )

    def _load(self) -> None:
        if self._entered_by:
            topics = importlib.import_module(self._entered_by)
            order = {module.__name__: place for place, module in enumerate(topics.ORDER)}
            self._commands.sort(key=lambda command: order[command.handler.__module__])
            self._entered_by = ""

    @staticmethod
    def _rank(command: Command, typed: str) -> int | None:
        """0: the name begins so; 1: an alias does; 2: the letters come in this order; None: no match."""
        if command.name.startswith(typed):
            return 0
        if any(alias.startswith(typed) for alias in command.aliases):
            return 1
        letters = iter(command.name)
        return 2 if all(letter in letters for letter in typed) else None

    def _offer(self, name: str) -> str:
        begun = [word for word in self._by_name if name and word.startswith(name)]
        close = begun or difflib.get_close_matches(name, list(self._by_name), n=1, cutoff=0.5)
        if close:
            return f"Did you mean {' or '.join(f'/{word}' for word in close[:3])}?"
        return "/help shows them all."


def is_command(text: str) -> bool:
    """True for ``/word`` alone or before white space; ``/etc/hosts`` is no command."""
    return _COMMAND.match(text.strip()) is not None


def _words(text: str) -> list[str]:
    """Words as a shell splits them; raises ``ValueError`` for a quote that is left open."""
    return shlex.split(_APOSTROPHE.sub(lambda found: "\\'" if found[1] else found[0], text))


def _counts(handler: Handler) -> tuple[int, int | None]:
    parameters = list(inspect.signature(handler).parameters.values())[1:]
    plain = [p for p in parameters if p.kind is not p.VAR_POSITIONAL]
    least = sum(p.default is p.empty for p in plain)
    return least, len(plain) if len(plain) == len(parameters) else None


def _count_line(command: Command) -> str:
    match command.least, command.most:
        case _, 0:
            return f"/{command.name} takes no arguments."
        case least, most if least == most:
            bound, count = "", least
        case least, None:
            bound, count = "at least ", least
        case _, count:
            bound = "at most "
    return f"/{command.name} takes {bound}{count} argument{'s' * (count != 1)}."


COMMANDS = CommandTable(f"{__package__}.topics")
