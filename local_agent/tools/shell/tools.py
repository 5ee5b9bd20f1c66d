"""The tools of the shell, for the box of a conversation."""

from __future__ import annotations

from collections.abc import Sequence

from local_agent.tools.shell.bash import Bash
from local_agent.tools.shell.commands import Commands
from local_agent.tools.shell.jobs import BashOutput, BashStop
from local_agent.tools.shell.sandbox import Sandbox
from local_agent.tools.tool import Tool


def shell_tools(commands: Commands, sandbox: Sandbox | None) -> Sequence[Tool]:
    """``bash``, ``bash_output`` and ``bash_stop``; without a sandbox nothing runs confined."""
    return (Bash(commands, sandbox), BashOutput(commands), BashStop(commands))
