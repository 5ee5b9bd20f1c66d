"""Slash commands: one table that dispatch, completion, palette and help read."""

from local_agent.tui.commands.table import COMMANDS, Command, is_command

__all__ = ["COMMANDS", "Command", "is_command"]
