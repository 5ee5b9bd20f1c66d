"""What the program remembers of the person's choices, in ``runtime-preferences.json``."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from local_agent.config.private_files import write_private
from local_agent.domain.errors import ConfigError

MAX_BYTES = 1024


@dataclass(frozen=True, slots=True)
class Preferences:
    """Choices made inside the program; what the person writes by hand is in config.yaml."""

    model: str = ""
    """The last local model chosen explicitly; empty for none."""
    allowed_hosts: tuple[str, ...] = ()
    """Hosts that are not this machine and may receive conversations."""

    @classmethod
    def read(cls, path: Path) -> Preferences:
        """Read the file; a missing one is the defaults, a damaged one a ``ConfigError``."""
        try:
            with path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return cls()
        except OSError as error:
            raise ConfigError(f"Can't read {path}: {error.strerror}.") from error
        try:
            return _parse(data)
        except (ValueError, RecursionError) as error:
            raise ConfigError(
                f"{path} is damaged: {error}.", "Delete it: it only holds remembered choices."
            ) from error

    def write(self, path: Path) -> None:
        """Replace the file in one step, readable by its owner only."""
        data = json.dumps(asdict(self), ensure_ascii=False).encode()
        if len(data) > MAX_BYTES:
            raise ConfigError(
                f"{path} has no room for another host: it is limited to {MAX_BYTES} bytes.",
                "Put the hosts in your config.yaml: privacy.allowed_hosts.",
            )
        try:
            write_private(path, data)
        except OSError as error:
            raise ConfigError(f"Can't write {path}: {error.strerror}.") from error


def _parse(data: bytes) -> Preferences:
    if len(data) > MAX_BYTES:
        raise ValueError(f"over {MAX_BYTES} bytes")
    values = json.loads(data.decode("utf-8"))
    if not isinstance(values, dict) or not values.keys() <= {"model", "allowed_hosts"}:
        raise ValueError("unknown content")
    model, hosts = values.get("model", ""), values.get("allowed_hosts", [])
    if not isinstance(model, str) or not isinstance(hosts, list):
        raise ValueError("a value of the wrong type")
    if not all(isinstance(host, str) for host in hosts):
        raise ValueError("a host that is no text")
    return Preferences(model, tuple(hosts))
