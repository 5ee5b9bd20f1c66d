"""What is known of a model and of the server that runs it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


def full_name(name: str) -> str:
    """A name with its tag: ``x`` is ``x:latest``."""
    return name if ":" in name.rpartition("/")[2] else f"{name}:latest"


def is_cloud_name(name: str) -> bool:
    """``x:cloud`` and ``x:tag-cloud`` pass through any server to the cloud, by name alone."""
    tag = name.rpartition("/")[2].partition(":")[2].lower()
    return tag == "cloud" or tag.endswith("-cloud")


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
    loaded_size: int | None = None
    """Of the model in memory, its context included; ``size_vram`` is the part that lies in a GPU's."""
    size_vram: int | None = None
    expires_at: str | None = None
    modified_at: str = ""
    """UTC, ISO 8601; empty when unknown."""
    kv_bytes_per_token: int | None = None
    """What a token of context takes in memory, by the model's own dimensions."""
    proxied: bool = False
    """The server passes requests on to another one, which chooses the window."""
    licence: str = ""
    """The first line of it that says something; empty when the server gives none."""
    template: str = ""
    """How a conversation becomes text: ``Go template``, ``Jinja template``, or the name of a renderer."""

    @property
    def can_chat(self) -> bool:
        """False only for what is known not to chat (embedding models)."""
        return self.capabilities is None or "completion" in self.capabilities

    @property
    def leaves(self) -> bool:
        """True unless it is proven that the server runs it itself: what is asked goes on to somebody else."""
        return self.proxied or self.location in (Location.CLOUD, Location.UNKNOWN)

    @property
    def can_see(self) -> bool | None:
        """Whether it can be shown pictures; None when the server is too old to say."""
        return None if self.capabilities is None else "vision" in self.capabilities

    @property
    def can_call_tools(self) -> bool | None:
        """Whether it can be offered tools; None when the server is too old to say."""
        return None if self.capabilities is None else "tools" in self.capabilities

    @property
    def can_think(self) -> bool | None:
        """Whether it can think aloud; None when the server is too old to say."""
        return None if self.capabilities is None else "thinking" in self.capabilities

    @property
    def thinks_in_levels(self) -> bool:
        """True for models that always think, and can only be told how much (the gpt-oss family)."""
        return self.family.replace("-", "") == "gptoss" or "gpt-oss" in self.name.lower()


class Reason(StrEnum):
    """Why a conversation runs on its model."""

    FLAG = "--model"
    SESSION = "the session"
    SETTINGS = "ollama.model"
    REMEMBERED = "your last choice"
    CHOSEN = "chosen here"
    AUTO = "automatic"


class Fit(StrEnum):
    """Whether this machine can hold a model with its window; a guess from sizes, never a refusal."""

    FITS = "fits"
    TIGHT = "tight"
    TOO_BIG = "too_big"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Speed:
    """What the last turns on one model measured: medians in seconds; None is not measured."""

    turns: int
    tokens_per_second: float | None = None
    first_token_seconds: float | None = None
    """From the question to the first word, of a model that was loaded."""
    load_seconds: float | None = None
    """Of the turns that had to load it."""
    last_used: str = field(default="", compare=False)
    """When the newest of them began; UTC, ISO 8601."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A step of a download. ``done`` and ``total`` are bytes of the layer; None where it has no size."""

    status: str
    """As the server says it, such as ``pulling 6a0746a1ec1a`` or ``verifying sha256 digest``."""
    done: int | None = None
    total: int | None = None
    layer: str = ""
    """Digest of the part that is being fetched; empty for steps that fetch nothing."""


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
