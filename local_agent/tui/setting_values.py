"""Settings in words: their values, where these come from, and from when on a change counts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from local_agent.config.launch import LaunchOptions
from local_agent.config.load import PROJECT_FILE, LoadedSettings
from local_agent.domain.text import one_line
from local_agent.tui.look.workspace_names import short_path

DEFAULT = "default"
FLAG = "the flag "
_AT_ONCE = frozenset({"ui.theme", "ui.motion", "ui.vi", "ui.notify"})
_NEXT_TURN = frozenset(
    {
        "ollama.num_ctx",
        "ollama.keep_alive",
        "model.watchdog_seconds",
        "model.max_output",
        "model.thinking",
        "model.options",
        "model.per_model",
        "tools.enabled",
    }
)
_NEXT_CONVERSATION = frozenset({"ollama.model", "tools.mode", "tools.sandbox"})


def effect(name: str) -> str:
    """From when on a change of a key counts."""
    if name in _AT_ONCE:
        return "at once"
    if name in _NEXT_TURN:
        return "from the next turn on"
    return "from the next conversation on" if name in _NEXT_CONVERSATION else "after a restart"


def written(value: object) -> str:
    """A value as a person writes it; ``not set`` for one that has none."""
    if value is None or value == () or value == {}:
        return "not set"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Path):
        return short_path(str(value))
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{name}: {_inner(part)}" for name, part in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_inner(part) for part in value) + "]"
    return str(value)


def typed_form(value: object) -> str:
    """A value as it is put into the line to be changed; empty for one that has none."""
    return str(value) if isinstance(value, Path) else "" if written(value) == "not set" else written(value)


def flags_over(loaded: LoadedSettings, options: LaunchOptions) -> LoadedSettings:
    """The command line wins over every file for this run."""
    settings, origins = loaded.settings, dict(loaded.origins)
    if options.model is not None:
        settings = replace(settings, ollama=replace(settings.ollama, model=options.model))
        origins["ollama.model"] = f"{FLAG}--model"
    if options.gguf is not None:
        settings = replace(settings, embedded=replace(settings.embedded, gguf=options.gguf))
        origins["embedded.gguf"] = f"{FLAG}--gguf"
    if not options.save:
        settings = replace(settings, sessions=replace(settings.sessions, enabled=False))
        origins["sessions.enabled"] = f"{FLAG}--no-save"
    return LoadedSettings(replace(settings, origins=origins), origins)


def outranks(origin: str, own_file: Path) -> bool:
    """Whether a value from there stays whatever the person's own file says."""
    return origin != DEFAULT and not origin.startswith(f"{own_file}, line ")


def origin_words(origin: str, own_file: Path) -> str:
    """Where a value comes from, as short as it can be said."""
    file, line, number = origin.rpartition(", line ")
    if not line:
        return one_line(origin.removeprefix("environment, "))
    name = "your config" if file == str(own_file) else PROJECT_FILE
    return f"{name}, line {number}"


def _inner(value: object) -> str:
    if isinstance(value, Mapping | tuple | list):
        return written(value)
    return json.dumps(value, ensure_ascii=False) if not isinstance(value, str) else _word(value)


def _word(text: str) -> str:
    return text if text.replace("-", "").replace("_", "").isalnum() else json.dumps(text, ensure_ascii=False)
