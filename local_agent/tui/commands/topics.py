"""Enters all commands into the table: the order of these modules is the one in which they are shown."""

from local_agent.tui.commands import builtin, models, mode, reading, composing, files, copying, settings  # isort: skip

__all__ = ["builtin", "composing", "copying", "files", "mode", "models", "reading", "settings"]
