"""All modules that enter commands into the table."""

from local_agent.tui.commands import (
    branching,
    builtin,
    compacting,
    composing,
    context,
    copying,
    files,
    memory,
    mode,
    models,
    reading,
    recovery,
    settings,
    time,
    working,
)

ORDER = (
    builtin,
    models,
    mode,
    recovery,
    reading,
    memory,
    composing,
    files,
    copying,
    settings,
    working,
    time,
    branching,
    context,
    compacting,
)
"""In which their commands are shown, whichever was imported first."""
