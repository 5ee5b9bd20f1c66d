"""Enters all commands into the table: the order of these modules is the one in which they are shown."""

from local_agent.tui.commands import builtin, models, mode, recovery  # isort: skip
from local_agent.tui.commands import reading, composing, files, copying, settings, working, time  # isort: skip

__all__ = [
    "builtin",
    "composing",
    "copying",
    "files",
    "mode",
    "models",
    "reading",
    "recovery",
    "settings",
    "time",
    "working",
]
