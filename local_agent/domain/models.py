"""What is known of a model and of the server that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Location(StrEnum):
    """Where a model runs; ``UNKNOWN`` is never treated as local."""

    LOCAL = "local"
    CLOUD = "cloud"
    REMOTE = "remote"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """One model. Sizes are bytes, windows are tokens; None is unknown."""

    name: str
    digest: str = ""
    size: int | None = None
    parameters: str = ""
    """As the server says it, such as ``4.3B``."""
    quantization: str = ""
    family: str = ""
    trained_window: int | None = None
    capabilities: frozenset[str] | None = None
    """``completion``, ``tools``, ``thinking``, ``vision`` ...; None when the server is too old to say."""
    location: Location = Location.UNKNOWN
    loaded: bool = False
    loaded_window: int | None = None
    size_vram: int | None = None
    expires_at: str | None = None
    modified_at: str = ""
    """UTC, ISO 8601; empty when unknown."""
    kv_bytes_per_token: int | None = None
    """What a token of context takes in memory, by the model's own dimensions."""
    proxied: bool = False
    """The server passes requests on to another one, which chooses the window."""

    @property
    def can_chat(self) -> bool:
        """False only for what is known not to chat (embedding models)."""
        return self.capabilities is None or "completion" in self.capabilities


@dataclass(frozen=True, slots=True)
class ServerState:
    """One look at a backend: reachable or not, its version, its models."""

    address: str
    """URL of the server, or the path of the GGUF file."""
    reachable: bool
    version: str | None = None
    problem: str = ""
    """One line when it is not reachable."""
    hint: str = ""
    """The way out of ``problem``."""
    models: tuple[ModelInfo, ...] = field(default_factory=tuple)
    cuts_prompts: bool = False
    """It shortens prompts that are too long, without a word, and can't be told not to."""
