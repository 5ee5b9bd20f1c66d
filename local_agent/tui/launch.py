"""What one start of the screen was given, and what it leaves."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import Settings


class Launch(NamedTuple):
    """The command line and the configuration, already checked."""

    options: LaunchOptions
    settings: Settings
    paths: Paths


class ExitReport(NamedTuple):
    """The session that can be resumed, empty when there is none, and what is not in it."""

    handle: str = ""
    title: str = ""
    aside: Path | None = None
    """The file with what could not be saved."""
    pulls: tuple[str, ...] = ()
    """Models that were on their way."""
