"""The one typed model of the configuration: every key, its type, its bounds and its default."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_type_hints

from local_agent.domain.thinking import Thinking

if TYPE_CHECKING:
    from local_agent.config.options import Problem

ThemeName = Literal[
    "dark", "light", "ink", "ember", "moss", "tide", "dusk", "beacon", "paper", "linen", "mist", "clover",
    "chalk", "ansi-dark", "ansi-light",
]  # fmt: skip
Option = bool | int | float | str | list[str]

PER_MODEL = {
    "num_ctx": "ollama.num_ctx",
    "keep_alive": "ollama.keep_alive",
    "max_output": "model.max_output",
    "thinking": "model.thinking",
    "options": "model.options",
}
"""What can be set for one model, and the key that sets it for all."""
_DURATION = r"-?(\d+(\.\d+)?(ns|us|µs|ms|s|m|h))+"


class Rule(NamedTuple):
    """What a key accepts, in words for the person, and its bounds."""

    expects: str
    minimum: int | None = None
    maximum: int | None = None
    project: bool = False
    """A project's local-agent.yaml may set it."""
    project_only: bool | None = None
    """The one value that a project may set: it can turn something off, never on."""
    pattern: str | None = None
    """What a text must look like, as a regular expression."""
    entry: Callable[[str, object], Problem | None] | None = None
    """Checks one entry of a mapping by its name and value."""
    each: Mapping[str, str] | None = None
    """For a mapping of mappings: what each of them may hold, and the key whose type and rule that has."""


def _option_problem(name: str, value: object) -> Problem | None:
    from local_agent.config.options import option_problem  # only where options are set

    return option_problem(name, value)


def _rule(
    expects: str,
    minimum: int | None = None,
    maximum: int | None = None,
    *,
    project: bool = False,
    project_only: bool | None = None,
    pattern: str | None = None,
    entry: Callable[[str, object], Problem | None] | None = None,
    each: Mapping[str, str] | None = None,
) -> dict[str, Rule]:
    return {"rule": Rule(expects, minimum, maximum, project, project_only, pattern, entry, each)}


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
        metadata=_rule(
            "a duration, such as 10m, or a whole number of seconds (-1 keeps the model loaded)",
            pattern=_DURATION,
        ),
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
    thinking: Thinking | None = field(
        default=None, metadata=_rule("true, false, low, medium or high", project=True)
    )
    options: Mapping[str, Option] = field(
        default_factory=dict,
        metadata=_rule(
            "a mapping of sampling options, such as {temperature: 0.2}", project=True, entry=_option_problem
        ),
    )
    per_model: Mapping[str, Mapping[str, Any]] = field(
        default_factory=dict,
        metadata=_rule(
            "a mapping of models to what is set for them, such as {qwen3:4b: {num_ctx: 8192}}", each=PER_MODEL
        ),
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
class MemorySettings:
    """What a model knows of earlier conversations."""

    notes: bool = field(default=True, metadata=_rule("true or false", project=True, project_only=False))
    search_tool: bool = field(
        default=False, metadata=_rule("true or false", project=True, project_only=False)
    )


@dataclass(frozen=True, slots=True)
class ToolSettings:
    """What the model may do in the folder."""

    enabled: bool = field(default=True, metadata=_rule("true or false", project=True, project_only=False))
    mode: Literal["NORMAL", "PLAN", "AUTO"] = field(default="NORMAL", metadata=_rule("NORMAL, PLAN or AUTO"))
    sandbox: bool = field(default=True, metadata=_rule("true or false"))
    history_mib: int = field(
        default=1024,
        metadata=_rule("a whole number of MiB from 0 (keep no contents of files) to 1048576", 0, 1_048_576),
    )


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
    memory: MemorySettings = field(default_factory=MemorySettings)
    tools: ToolSettings = field(default_factory=ToolSettings)
    ui: UISettings = field(default_factory=UISettings)
    origins: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    """Where values came from, by dotted key; no setting of its own."""

    def origin(self, key: str) -> str:
        """Where the value of a dotted key came from: a file with its line, the environment, ``default``."""
        return self.origins.get(key, "default")

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
        if section == "origins":
            continue
        hints = get_type_hints(kind)
        for leaf in fields(kind):
            name = f"{section}.{leaf.name}"
            keys[name] = Key(name, hints[leaf.name], leaf.metadata["rule"])
    return keys
