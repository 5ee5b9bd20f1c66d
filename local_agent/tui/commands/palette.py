"""The command palette: every command, every described key of the screen, every theme, with its key shown."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

from textual.app import App
from textual.binding import ActiveBinding
from textual.command import CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.screen import Screen

from local_agent.tui.commands.table import COMMANDS, Command
from local_agent.tui.look.key_names import key_name
from local_agent.tui.look.themes import known_themes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the palette."""

    what: str
    shown: str
    """Its key or the command to type."""
    run: Callable[[], Awaitable[object] | None]


class _Composer(Protocol):
    def load(self, text: str) -> None:
        """Replace the text."""


class Palette(CommandPalette):
    """Textual's palette in our dress."""

    CSS_PATH = "palette.tcss"


class PaletteProvider(Provider):
    """What can be done on the screen that the palette was opened on."""

    async def discover(self) -> Hits:
        for entry in self._entries():
            yield DiscoveryHit(_display(Content(entry.what), entry.shown), entry.run, text=entry.what)

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for entry in self._entries():
            score = matcher.match(f"{entry.what} {entry.shown}")
            if score > 0:
                display = _display(matcher.highlight(entry.what), entry.shown)
                yield Hit(score, display, entry.run, text=entry.what)

    def _entries(self) -> Iterator[Entry]:
        keys = {
            active.binding.action: key_name(active.binding.key)
            for active in self.screen.active_bindings.values()
        }
        if not hasattr(self.screen, "action_command"):
            yield from self._bound()
            return
        yield from (self._command(command, keys) for command in COMMANDS)
        yield from self._bound()
        for theme in known_themes():
            wear = partial(self.screen.run_action, f"command('/theme {theme}')")
            yield Entry(f"Theme: {theme}", "", wear)

    def _command(self, command: Command, keys: dict[str, str]) -> Entry:
        key = keys.get(command_action(command.name))
        shown = f"{command.usage}  {key}" if key else command.usage
        return Entry(command.summary, shown, partial(_carry_out, self.screen, command))

    def _bound(self) -> Iterator[Entry]:
        seen: set[str] = set()
        for active in self.screen.active_bindings.values():
            binding = active.binding
            if not _belongs_here(active) or binding.action in seen:
                continue
            seen.add(binding.action)
            run = partial(self.app.run_action, binding.action, active.node)
            yield Entry(binding.tooltip or _sentence(binding.description), key_name(binding.key), run)


def command_action(name: str) -> str:
    """The action that a key needs to do what a command does."""
    return f"command('/{name}')"


def _belongs_here(active: ActiveBinding) -> bool:
    """Ours (Textual's own editing keys have no id), described, possible now, and not a command's key."""
    binding = active.binding
    named = binding.id is not None and bool(binding.description)
    ours = isinstance(active.node, Screen | App) or not binding.system
    return named and ours and active.enabled and not binding.action.startswith("command(")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


async def _carry_out(screen: Screen[Any], command: Command) -> None:
    """Do it, or put it into the composer when it wants an argument."""
    if command.least:
        cast(_Composer, screen.query_one("Composer")).load(f"/{command.name} ")
    else:
        await screen.run_action(command_action(command.name))


def _display(what: Content, shown: str) -> Content:
    return Content.assemble(what, (f"  {shown}", "$text-muted")) if shown else what
