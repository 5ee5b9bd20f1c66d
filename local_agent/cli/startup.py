"""What every command begins with: the folder it runs in, the paths, the settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from local_agent.config.load import LoadedSettings, load_settings
from local_agent.config.logs import start_logging
from local_agent.config.paths import Paths
from local_agent.domain.errors import LocalAgentError


@dataclass(frozen=True, slots=True)
class Startup:
    """Where the program was started. ``workspace`` is resolved."""

    workspace: Path
    paths: Paths

    @classmethod
    def here(cls) -> Startup:
        """The current folder and the user's paths; logging goes to the file from here on."""
        paths = Paths.discover()
        start_logging(paths)
        try:
            workspace = Path(os.getcwd()).resolve()
        except OSError as error:
            raise LocalAgentError("The folder you are in is gone.", "Change to one that exists.") from error
        return cls(workspace, paths)

    def load(self) -> LoadedSettings:
        """The effective settings of this folder."""
        return load_settings(self.paths, self.workspace)
