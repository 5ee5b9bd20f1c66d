"""What the program remembers of the person's choices, in ``runtime-preferences.json``.

A file that can't be read as it should is no obstacle: nothing is remembered then, and it stays as it is
until the person makes a choice that is to be remembered. Then it is set aside, under a name of its own.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from local_agent.config.private_files import read_regular, write_private
from local_agent.domain.errors import ConfigError

MAX_BYTES = 1024
_KEYS = {"model", "instead_of", "allowed_hosts", "windows"}


@dataclass(frozen=True, slots=True)
class Preferences:
    """Choices made inside the program; what the person writes by hand is in config.yaml."""

    model: str = ""
    """The last local model chosen explicitly; empty for none."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that are not this machine and may receive conversations."""
    instead_of: str = ""
    """What ``ollama.model`` said when it was chosen: a setting that was changed since then counts."""
    windows: Mapping[str, int] = field(default_factory=dict)
    """Tokens of context that a model is asked with at most, by the beginning of its digest: with more it did
    not fit into memory."""

    @classmethod
    def read(cls, path: Path) -> Preferences:
        """Read the file; a missing one is the defaults, a damaged one a ``ConfigError``."""
        try:
            data = read_regular(path, MAX_BYTES + 1)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _damaged(path, "it is a link") from error
            raise ConfigError(f"Can't read {path}: {error.strerror}.") from error
        except ValueError as error:
            raise _damaged(path, error) from error
        try:
            return _parse(data)
        except (ValueError, RecursionError) as error:
            raise _damaged(path, error) from error

    @classmethod
    def read_or_none(cls, path: Path) -> tuple[Preferences, str]:
        """What is remembered, or nothing with a line that says why."""
        try:
            return cls.read(path), ""
        except ConfigError as error:
            return cls(), str(error)

    def write(self, path: Path) -> None:
        """Replace the file in one step, readable by its owner only."""
        values = {name: value for name, value in asdict(self).items() if value}
        data = json.dumps(values, ensure_ascii=False).encode()
        if len(data) > MAX_BYTES:
            raise ConfigError(
                f"{path} has no room for that: it is limited to {MAX_BYTES} bytes.",
                "Put hosts in your config.yaml: privacy.allowed_hosts." if self.allowed_hosts else "",
            )
        try:
            write_private(path, data)
        except OSError as error:
            raise ConfigError(f"Can't write {path}: {error.strerror}.") from error


def remember(path: Path, **choices: Any) -> str:
    """Change fields of ``Preferences`` in the file; a line about what else had to be done, or nothing.

    Everything else in the file is kept. Of two processes that write at once the last one counts.
    Raises ``ConfigError`` when it can't be written.
    """
    known, line = Preferences.read_or_none(path)
    wanted = replace(known, **choices)
    if not line and wanted == known:
        return ""
    if line:
        line = f"{path.name} could not be read, and is kept as {_set_aside(path).name}."
    wanted.write(path)
    return line


def _damaged(path: Path, error: object) -> ConfigError:
    return ConfigError(f"{path} is damaged: {error}.", "Delete it: it only holds remembered choices.")


def _set_aside(path: Path) -> Path:
    """Rename what stands there; a link is renamed, not what it leads to."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.damaged{f'-{number}' * (number > 1)}")):
        number += 1
    try:
        path.rename(aside)
    except OSError as error:
        raise ConfigError(f"Can't move {path} away: {error.strerror}.") from error
    return aside


def _parse(data: bytes) -> Preferences:
    if len(data) > MAX_BYTES:
        raise ValueError(f"over {MAX_BYTES} bytes")
    values = json.loads(data.decode("utf-8"))
    if not isinstance(values, dict) or not values.keys() <= _KEYS:
        raise ValueError("unknown content")
    names = values.get("model", ""), values.get("instead_of", "")
    hosts = values.get("allowed_hosts", [])
    if not isinstance(hosts, list) or not all(isinstance(text, str) for text in (*names, *hosts)):
        raise ValueError("a value of the wrong type")
    if not all(text.isprintable() for text in (*names, *hosts)):
        raise ValueError("a name with control characters")
    return Preferences(names[0], tuple(hosts), names[1], _windows(values.get("windows", {})))


def _windows(value: object) -> dict[str, int]:
    if not isinstance(value, dict) or not all(
        type(tokens) is int and tokens > 0 for tokens in value.values()
    ):
        raise ValueError("windows that are no numbers")
    return value
