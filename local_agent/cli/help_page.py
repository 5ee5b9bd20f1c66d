"""Help in groups: options and commands under headings, in an order a reader can follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import click


class GroupedHelp(click.Group):
    """A command group whose help page has a heading for each kind of option and command.

    ``option_groups`` and ``command_groups`` map a heading to names; the rest comes last, under "About".
    """

    option_groups: ClassVar[Mapping[str, Sequence[str]]] = {}
    command_groups: ClassVar[Mapping[str, Sequence[str]]] = {}

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by heading, then the commands by heading."""
        records = {
            parameter.name: record
            for parameter in self.get_params(ctx)
            if (record := parameter.get_help_record(ctx)) is not None
        }
        for heading, names in _with_rest(self.option_groups, list(records)).items():
            with formatter.section(heading):
                formatter.write_dl([records[name] for name in names])
        commands = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        rows = {name: (name, command.get_short_help_str(60)) for name, command in commands.items() if command}
        for heading, names in _with_rest(self.command_groups, list(rows)).items():
            with formatter.section(heading):
                formatter.write_dl([rows[name] for name in names])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the epilog as it stands, not wrapped: it holds commands to copy."""
        if self.epilog:
            formatter.write_paragraph()
            formatter.write(self.epilog)


def _with_rest(groups: Mapping[str, Sequence[str]], names: Sequence[str | None]) -> dict[str, list[str]]:
    present = [name for name in names if name is not None]
    named = {heading: [name for name in wanted if name in present] for heading, wanted in groups.items()}
    grouped = {name for wanted in groups.values() for name in wanted}
    named["About"] = [name for name in present if name not in grouped]
    return {heading: kept for heading, kept in named.items() if kept}
