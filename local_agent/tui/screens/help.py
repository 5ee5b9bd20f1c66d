"""Help, made from the command table and from the key bindings that act now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from local_agent.policy import catalogue
from local_agent.tui.commands import COMMANDS, Command
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.key_names import key_name
from local_agent.tui.look.lines import BLANK, Line, indented, wrap
from local_agent.tui.screens.breakpoints import HEIGHTS, WIDTHS
from local_agent.tui.widgets.key_line import KeyLine
from local_agent.tui.widgets.row_list import fit
from local_agent.tui.widgets.typeset_view import TypesetView

KEY_WIDTH = 20
SIDE_BY_SIDE = 44


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """What one key does."""

    keys: str
    does: str


def keys_of(screen: Screen[Any]) -> tuple[KeyHelp, ...]:
    """The described keys of a screen, its app, and what has the focus on it.

    Textual's own editing keys have no id and are left out: they are what every editor has.
    """
    found: dict[str, list[str]] = {}
    for active in screen.active_bindings.values():
        if active.enabled and active.binding.description and _is_ours(active):
            keys = found.setdefault(active.binding.tooltip or active.binding.description, [])
            if (key := key_name(active.binding.key)) not in keys:
                keys.append(key)
    return tuple(KeyHelp(", ".join(keys), does) for does, keys in found.items())


def _is_ours(active: ActiveBinding) -> bool:
    binding = active.binding
    return binding.id is not None or binding.action.endswith("command_palette")


class HelpScreen(Screen[None]):
    """Commands and keys side by side where the width allows."""

    CSS_PATH = "help.tcss"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1", "close", "close", id="help.close"),
    ]

    def __init__(self, keys: Sequence[KeyHelp], *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__()
        self._keys = tuple(keys)
        self._glyphs = glyphs

    def compose(self) -> ComposeResult:
        yield Static(Content.styled("Help", "bold"), id="heading")
        with VerticalScroll():
            with Container(id="sides"):
                yield TypesetView(lambda width: command_lines(COMMANDS, width), id="commands")
                yield TypesetView(lambda width: key_lines(self._keys, width), id="keys")
            yield TypesetView(catalogue_lines, id="catalogue")
        yield KeyLine(self._glyphs)

    def on_mount(self) -> None:
        self.query_one(VerticalScroll).focus()

    def action_close(self) -> None:
        self.dismiss(None)


def command_lines(commands: Iterable[Command], width: int) -> list[Line]:
    """The table of commands, with their other names."""
    rows = [
        (command.usage, command.summary + "".join(f"; also /{alias}" for alias in command.aliases))
        for command in commands
    ]
    return _two_columns("Commands", rows, width)


def key_lines(keys: Iterable[KeyHelp], width: int) -> list[Line]:
    """Keys and what they do."""
    return _two_columns("Keys", [(entry.keys, entry.does) for entry in keys], width)


def catalogue_lines(width: int) -> list[Line]:
    """Which commands are known to read only, and which run the project's own code."""
    lines = [BLANK, Line(Content.styled("Commands of the model", "bold"))]
    for text in catalogue.lines():
        style = "$text" if text.endswith(":") else "$text-muted"
        lines += wrap(Content.styled(text.strip(), style), width)
    return lines


def _two_columns(title: str, rows: list[tuple[str, str]], width: int) -> list[Line]:
    lines = [Line(Content.styled(title, "bold"))]
    for left, right in rows:
        does = Content.styled(right, "$text-muted")
        if width < SIDE_BY_SIDE:
            lines += wrap(Content(left), width) + indented(wrap(does, width - 2), Content("  "))
            continue
        keys = wrap(Content(left), KEY_WIDTH - 2)
        for key, text in zip_longest(keys, wrap(does, width - KEY_WIDTH), fillvalue=BLANK):
            lines.append(text.behind(fit(key.content, KEY_WIDTH)))
    return lines
