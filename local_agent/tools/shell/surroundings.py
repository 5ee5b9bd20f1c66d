"""What a command finds around it: which shell reads it, and its environment."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

_OURS = "LOCAL_AGENT_"
_SECRET = frozenset({"OLLAMA_API_KEY"})
# A program that believes in a terminal would wait for keys, page or paint. Python keeps back what it prints
# where nobody seems to look: what is said of a job, or was until a stop, would be missing.
_UNATTENDED = {
    "TERM": "dumb",
    "PAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_TERMINAL_PROMPT": "0",
    "PYTHONUNBUFFERED": "1",
}
_UNSET = frozenset({"CI"})
"""Changes what many programs print."""


def environment(person: Mapping[str, str]) -> dict[str, str]:
    """The person's own, without what is ours, for programs that nobody attends to."""
    kept = {
        name: value
        for name, value in person.items()
        if not name.startswith(_OURS) and name not in _SECRET and name not in _UNSET
    }
    return kept | _UNATTENDED


def shell_command(command: str, env: Mapping[str, str]) -> list[str]:
    """The words that start a shell on a command: bash where there is one."""
    shell = shutil.which("bash", path=env.get("PATH")) or "/bin/sh"
    return [shell, "-c", command]
