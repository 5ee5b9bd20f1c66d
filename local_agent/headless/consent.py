"""A host that is not this machine: without a screen nobody can be asked, so the settings must say yes."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.errors import LocalAgentError


def not_allowed(host: str, config_file: Path) -> LocalAgentError:
    """Why nothing was sent to ``host``, and the line that allows it."""
    return LocalAgentError(
        f"{host} is not this machine: your conversation would leave it, so nothing was sent.",
        f"Allow it with privacy.allowed_hosts: [{host}] in {config_file}",
    )
