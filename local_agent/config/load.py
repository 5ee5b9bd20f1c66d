"""Layers of configuration laid over each other: defaults, the user's file, the project's, the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from local_agent.config.paths import Paths
from local_agent.config.settings import Key, Settings, settings_keys
from local_agent.domain.errors import ConfigError
from local_agent.domain.text import one_line

PROJECT_FILE = "local-agent.yaml"
ENVIRONMENT = {
    "OLLAMA_HOST": "ollama.host",
    "LOCAL_AGENT_THEME": "ui.theme",
    "LOCAL_AGENT_GLYPHS": "ui.glyphs",
    "LOCAL_AGENT_MOTION": "ui.motion",
}
"""Variables that override files. A blank one counts as unset. (NO_COLOR is the screen's own affair.)"""


class LoadedSettings(NamedTuple):
    """The effective settings, and for every dotted key where its value came from."""

    settings: Settings
    origins: Mapping[str, str]


def load_settings(paths: Paths, workspace: Path, env: Mapping[str, str] = os.environ) -> LoadedSettings:
    """Load and check everything; ``ConfigError`` names file, line and key."""
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for file, of_project in ((paths.config_file, False), (workspace / PROJECT_FILE, True)):
        if not os.path.lexists(file):
            continue
        from local_agent.config.file import read_file  # yaml and pydantic: 100 ms, only where a file exists

        for found in read_file(file, settings_keys(), of_project=of_project):
            values[found.key] = found.value
            origins[found.key] = f"{file}, line {found.line}"
    return _with_environment(values, origins, env)


def load_without_files(env: Mapping[str, str] = os.environ) -> LoadedSettings:
    """Defaults and environment: what can be looked at while a file is broken."""
    return _with_environment({}, {}, env)


def _with_environment(
    values: Mapping[str, Any], origins: Mapping[str, str], env: Mapping[str, str]
) -> LoadedSettings:
    keys = settings_keys()
    values, origins = dict(values), {**dict.fromkeys(keys, "default"), **origins}
    for variable, name in ENVIRONMENT.items():
        text = env.get(variable, "").strip()
        if text:
            values[name] = _from_environment(variable, text, keys[name])
            origins[name] = f"environment, {variable}"
    return LoadedSettings(replace(_build(values), origins=origins), origins)


def _from_environment(variable: str, text: str, key: Key) -> str:
    if key.choices and text not in key.choices:
        raise ConfigError(f"{variable} must be {key.rule.expects}, not {one_line(text, 40)!r}.")
    return text


def _build(values: Mapping[str, Any]) -> Settings:
    sections: dict[str, dict[str, Any]] = {}
    for name, value in values.items():
        section, _, leaf = name.partition(".")
        sections.setdefault(section, {})[leaf] = value
    settings = Settings()
    return replace(
        settings,
        **{section: replace(getattr(settings, section), **leaves) for section, leaves in sections.items()},
    )
