"""Enters all commands into the table: the order of these modules is the one in which they are shown."""

from local_agent.tui.commands import builtin, models, mode, recovery  # isort: skip
from local_agent.tui.commands import reading, composing, files, copying, settings, working, time, branching  # isort: skip
from local_agent.tui.commands import context, compacting  # isort: skip

__all__ = [
    "branching",
    "builtin",
    "compacting",
    "composing",
    "context",
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
