"""The one typed model of the configuration: every key, its type, its bounds and its default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args, get_type_hints

ThemeName = Literal[
    "dark", "light", "ink", "ember", "moss", "tide", "dusk", "beacon", "paper", "linen", "mist", "clover",
    "chalk", "ansi-dark", "ansi-light",
]  # fmt: skip
Option = bool | int | float | str | list[str]


class Rule(NamedTuple):
    """What a key accepts, in words for the person, and its bounds."""

    expects: str
    minimum: int | None = None
    maximum: int | None = None
    project: bool = False
    """A project's local-agent.yaml may set it."""
    project_only: bool | None = None
    """The one value that a project may set: it can turn something off, never on."""


def _rule(
    expects: str,
    minimum: int | None = None,
    maximum: int | None = None,
    *,
    project: bool = False,
    project_only: bool | None = None,
) -> dict[str, Rule]:
    return {"rule": Rule(expects, minimum, maximum, project, project_only)}


@dataclass(frozen=True, slots=True)
class OllamaSettings:
    """The Ollama server and how models are loaded there."""

    host: str = field(default="127.0.0.1:11434", metadata=_rule("an address, such as 127.0.0.1:11434"))
    model: str | None = field(
        default=None, metadata=_rule("the name of a model, such as qwen3:4b", project=True)
    )
    num_ctx: int | None = field(
        default=None,
        metadata=_rule("a whole number of tokens from 512 to 4194304", 512, 4_194_304, project=True),
    )
    keep_alive: str | int | None = field(
        default=None,
        metadata=_rule("a duration, such as 10m, or a whole number of seconds (-1 keeps the model loaded)"),
    )


@dataclass(frozen=True, slots=True)
class EmbeddedSettings:
    """The engine inside the program."""

    gguf: Path | None = field(default=None, metadata=_rule("the path of a GGUF file"))
    threads: int | None = field(default=None, metadata=_rule("a whole number from 1 to 1024", 1, 1024))


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How any model is asked."""

    watchdog_seconds: int = field(
        default=0, metadata=_rule("a whole number of seconds from 0 (only tell) to 86400", 0, 86_400)
    )
    max_output: int | None = field(
        default=None, metadata=_rule("a whole number of tokens from 1 to 4194304", 1, 4_194_304, project=True)
    )
    thinking: bool | Literal["low", "medium", "high"] | None = field(
        default=None, metadata=_rule("true, false, low, medium or high", project=True)
    )
    options: Mapping[str, Option] = field(
        default_factory=dict,
        metadata=_rule("a mapping of sampling options, such as {temperature: 0.2}", project=True),
    )


@dataclass(frozen=True, slots=True)
class PrivacySettings:
    """Where a conversation may go."""

    local_only: bool = field(default=False, metadata=_rule("true or false", project=True, project_only=True))
    allowed_hosts: tuple[str, ...] = field(default=(), metadata=_rule("a list of host names or addresses"))


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Whether conversations are kept."""

    enabled: bool = field(default=True, metadata=_rule("true or false", project=True, project_only=False))


@dataclass(frozen=True, slots=True)
class UISettings:
    """How the screen looks and moves."""

    theme: ThemeName | None = field(
        default=None, metadata=_rule(f"one of {', '.join(get_args(ThemeName))}", project=True)
    )
    glyphs: Literal["unicode", "ascii"] = field(
        default="unicode", metadata=_rule("unicode or ascii", project=True)
    )
    motion: Literal["full", "reduced"] = field(
        default="full", metadata=_rule("full or reduced", project=True)
    )
    vi: bool = field(default=False, metadata=_rule("true or false", project=True))
    mouse: bool = field(default=True, metadata=_rule("true or false", project=True))
    notify: Literal["off", "bell", "desktop", "auto"] = field(
        default="auto", metadata=_rule("off, bell, desktop or auto", project=True)
    )


@dataclass(frozen=True, slots=True)
class Settings:
    """The effective configuration of one start."""

    ollama: OllamaSettings = field(default_factory=OllamaSettings)
    embedded: EmbeddedSettings = field(default_factory=EmbeddedSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    privacy: PrivacySettings = field(default_factory=PrivacySettings)
    sessions: SessionSettings = field(default_factory=SessionSettings)
    ui: UISettings = field(default_factory=UISettings)

    def value(self, key: str) -> object:
        """The value of a dotted key such as ``ollama.host``."""
        section, _, name = key.partition(".")
        return getattr(getattr(self, section), name)


class Key(NamedTuple):
    """One leaf of the model: its dotted name, its type and its rule."""

    name: str
    annotation: Any
    rule: Rule

    @property
    def choices(self) -> tuple[bool | str, ...]:
        """The only values there are, where these can be counted; the least surprising way to change one."""
        parts = get_args(self.annotation) or (self.annotation,)
        found: list[bool | str] = []
        for part in parts:
            if part is bool:
                found += [True, False]
            elif isinstance(part, str):
                found.append(part)
            elif all(isinstance(word, str) for word in get_args(part)):
                found += get_args(part)
            elif part is not type(None):
                return ()
        return tuple(found)


def settings_keys() -> dict[str, Key]:
    """Every key of the model by its dotted name, in the order of the model."""
    keys: dict[str, Key] = {}
    for section, kind in get_type_hints(Settings).items():
        hints = get_type_hints(kind)
        for leaf in fields(kind):
            name = f"{section}.{leaf.name}"
            keys[name] = Key(name, hints[leaf.name], leaf.metadata["rule"])
    return keys
