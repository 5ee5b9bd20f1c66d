"""The list of slash commands that opens above the composer."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from local_agent.tui.commands.table import Command

SIDES = 5
"""Cells that padding and scroll bar take."""


class CompletionList(OptionList, can_focus=False):
    """Never has the focus: the composer sends it its keys."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        height: auto;
        max-height: 8;
        padding: 0 2;
        border: none;
        background: transparent;
        scrollbar-size-vertical: 1;
        & > .option-list--option { padding: 0; }
        & > .option-list--option-highlighted { text-style: none; background: $panel; }
    }
    CompletionList.-open { display: block; }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.commands: Sequence[Command] = ()

    def show(self, commands: Sequence[Command]) -> None:
        """Offer these; none closes the list."""
        self.set_class(bool(commands), "-open")
        if list(commands) == list(self.commands):
            return
        self.commands = commands
        self.clear_options()
        column = max((len(command.usage) for command in commands), default=0)
        room = max(column, self.app.size.width - SIDES)
        for command in commands:
            usage = (command.usage.ljust(column), "$text")
            line = Content.assemble(usage, "  ", (command.summary, "$text-muted"))
            self.add_option(Option(line.truncate(room, ellipsis=True)))
        self.highlighted = 0 if commands else None

    def move(self, step: int) -> None:
        """Choose another row, around the ends."""
        if self.commands:
            self.highlighted = ((self.highlighted or 0) + step) % len(self.commands)

    @property
    def chosen(self) -> Command | None:
        """The command under the pointer."""
        return self.commands[self.highlighted] if self.commands and self.highlighted is not None else None
