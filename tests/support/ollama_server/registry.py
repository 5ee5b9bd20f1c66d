"""The models a scripted server has, and how each server version describes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field

ENGINES = ("native", "qwen3", "gemma4", "harmony", "generic", "mlx", "cloud")
REMOVE = "__remove__"
"""As a value of ``ModelSpec.show``: the field is left out, as an old server does."""


@dataclass(frozen=True)
class ModelSpec:
    """One model. ``engine`` decides where tool calls go out and how errors read."""

    name: str
    capabilities: tuple[str, ...] = ("completion", "tools")
    engine: str = "native"
    arch: str = "llama"
    train_ctx: int = 131_072
    default_ctx: int = 4_096
    size: int = 2_019_393_189
    parameter_size: str = "3.2B"
    quantization: str = "Q4_K_M"
    blocks: int = 28
    heads: int = 24
    heads_kv: int = 8
    embedding: int = 3_072
    modified_at: str = "2026-05-04T10:11:12.123456789+02:00"
    load_seconds: float = 0.0
    load_error: str = ""
    gpu_share: float = 1.0
    """Part of the loaded model that lies in video memory."""
    shift: bool = True
    bytes_per_token: float = 4.0
    """How its tokenizer counts."""
    most_window: int = 0
    """Tokens of context that fit into video memory, 0 is any: a larger one lies there in part, and
    ``load_error`` is that of a larger one."""
    remote_model: str = ""
    remote_host: str = ""
    digest: str = ""
    show: Mapping[str, object] = field(default_factory=dict)
    """Fields of ``/api/show`` to replace, or to leave out with ``REMOVE``."""

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"no engine {self.engine!r}: one of {', '.join(ENGINES)}")
        object.__setattr__(self, "name", full_name(self.name))
        if not self.digest:
            object.__setattr__(self, "digest", hashlib.sha256(self.name.encode()).hexdigest())


def full_name(name: str) -> str:
    """``x`` is ``x:latest``, as the server reads it."""
    return name if ":" in name.rsplit("/", 1)[-1] else f"{name}:latest"


def is_cloud_name(name: str) -> bool:
    """``x:cloud`` and ``x:tag-cloud`` go to the cloud by their name alone."""
    tag = name.rpartition(":")[2]
    return ":" in name and (tag == "cloud" or tag.endswith("-cloud"))


def at_least(version: str, wanted: str) -> bool:
    """Compare release numbers; a development build (``0.0.0``) counts as newest."""
    numbers = _numbers(version)
    return numbers == (0, 0, 0) or numbers >= _numbers(wanted)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.partition("-")[0].split("."))


def _details(model: ModelSpec) -> dict[str, object]:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": model.arch,
        "families": [model.arch],
        "parameter_size": model.parameter_size,
        "quantization_level": model.quantization,
    }


def _remote(model: ModelSpec) -> dict[str, object]:
    if not model.remote_host:
        return {}
    return {"remote_model": model.remote_model, "remote_host": model.remote_host}


def tag(model: ModelSpec, version: str) -> dict[str, object]:
    """One row of ``/api/tags``."""
    row: dict[str, object] = {
        "name": model.name,
        "model": model.name,
        **_remote(model),
        "modified_at": model.modified_at,
        "size": model.size,
        "digest": model.digest,
        "details": _details(model),
    }
    if at_least(version, "0.30.0"):
        row["capabilities"] = list(model.capabilities)
    return row


def show(model: ModelSpec, version: str) -> dict[str, object]:
    """The body of ``/api/show``."""
    arch = model.arch
    body: dict[str, object] = {
        "modelfile": f"FROM {model.name}\n",
        "template": "{{ .Prompt }}",
        "details": _details(model),
        **_remote(model),
        "model_info": {
            "general.architecture": arch,
            "general.file_type": 15,
            "general.parameter_count": 3_212_749_888,
            f"{arch}.attention.head_count": model.heads,
            f"{arch}.attention.head_count_kv": model.heads_kv,
            f"{arch}.block_count": model.blocks,
            f"{arch}.context_length": model.train_ctx,
            f"{arch}.embedding_length": model.embedding,
        },
        "modified_at": model.modified_at,
    }
    if at_least(version, "0.6.4"):
        body["capabilities"] = list(model.capabilities)
    body.update(model.show)
    return {key: value for key, value in body.items() if value != REMOVE}


def _gpu_share(model: ModelSpec, window: int) -> float:
    if model.most_window and window > model.most_window:
        return model.gpu_share * 0.9
    return model.gpu_share


def running(model: ModelSpec, version: str, window: int, expires_at: str) -> dict[str, object]:
    """One row of ``/api/ps``."""
    row: dict[str, object] = {
        "name": model.name,
        "model": model.name,
        "size": model.size,
        "digest": model.digest,
        "details": _details(model),
        "expires_at": expires_at,
        "size_vram": int(model.size * _gpu_share(model, window)),
    }
    if at_least(version, "0.10.0"):
        row["context_length"] = window
    return row
