"""Where everything of the user's lives on this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from local_agent.domain.errors import ConfigError

APP = "local-agent"
HOME_VARIABLE = "LOCAL_AGENT_HOME"
_WAY_OUT = f"Set {HOME_VARIABLE} to a folder that you can write."


@dataclass(frozen=True, slots=True)
class Paths:
    """``home`` holds what must be kept, ``cache`` what can be downloaded again. Nothing is created here."""

    home: Path
    cache: Path

    @classmethod
    def discover(cls, env: Mapping[str, str] = os.environ) -> Paths:
        """Find both folders; ``ConfigError`` when there is no place for them."""
        override = env.get(HOME_VARIABLE, "")
        if override.strip():
            home = Path(os.path.abspath(os.path.expanduser(override)))
            source = HOME_VARIABLE
        else:
            home = _platform_folder("config", env)
            source = "The configuration folder"
        if home.exists() and not home.is_dir():
            raise ConfigError(f"{source} is no folder: {home}", _WAY_OUT)
        return cls(home=home, cache=_cache_folder(home, env))

    @property
    def database(self) -> Path:
        return self.home / "local-agent.db"

    @property
    def config_file(self) -> Path:
        return self.home / "config.yaml"

    @property
    def preferences(self) -> Path:
        return self.home / "runtime-preferences.json"

    @property
    def permissions(self) -> Path:
        """What is allowed and forbidden in workspaces, beyond one session."""
        return self.home / "permissions.json"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def log_file(self) -> Path:
        return self.logs / "local-agent.log"

    @property
    def backups(self) -> Path:
        return self.home / "backups"

    @property
    def picture_objects(self) -> Path:
        """The pictures that were attached, by digest."""
        return self.home / "images" / "objects"

    @property
    def outputs(self) -> Path:
        """What commands and searches said in full, by digest."""
        return self.home / "objects"

    @property
    def unsaved(self) -> Path:
        """What could not be written to the database, as text."""
        return self.home / "unsaved"

    @property
    def memory(self) -> Path:
        """The notes of each folder."""
        return self.home / "memory"

    @property
    def locks(self) -> Path:
        return self.home / "locks"

    @property
    def engine_marker(self) -> Path:
        """Exists while the embedded engine works; found at a start, it tells of a crash."""
        return self.home / "engine-running.json"


def _platform_folder(kind: str, env: Mapping[str, str]) -> Path:
    import platformdirs  # 20 ms that a start with LOCAL_AGENT_HOME and no download doesn't need

    find = platformdirs.user_config_path if kind == "config" else platformdirs.user_cache_path
    folder = find(APP, appauthor=False)
    homeless = env.get("HOME") == "" and not env.get(f"XDG_{kind.upper()}_HOME", "").strip()
    if homeless or not folder.is_absolute():
        raise ConfigError("There is no home folder: HOME is empty or unknown.", _WAY_OUT)
    return folder


def _cache_folder(home: Path, env: Mapping[str, str]) -> Path:
    try:
        return _platform_folder("cache", env)
    except ConfigError:
        return home / "cache"
