"""Slash commands: one table that dispatch, completion, palette and help read."""

from local_agent.tui.commands import builtin, models, reading
from local_agent.tui.commands.table import COMMANDS, Command, is_command

__all__ = ["COMMANDS", "Command", "builtin", "is_command", "models", "reading"]
