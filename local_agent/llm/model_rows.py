"""Rows of an Ollama server's lists as ``ModelInfo``, whatever the server's age leaves out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from urllib.parse import urlsplit

from local_agent.domain.models import Location, ModelInfo, full_name, is_cloud_name
from local_agent.domain.text import one_line
from local_agent.llm.host import ServerAddress

Document = Mapping[str, object]
_RENDERER = re.compile(r"^RENDERER\s+(\S+)", re.MULTILINE)
_CACHE_BYTES = 2
"""One value of the key-value cache, at 16 bits."""


def row_to_model(row: Document, address: ServerAddress) -> ModelInfo | None:
    """A row of ``/api/tags``; None when it has no name."""
    name = _text(row, "name") or _text(row, "model")
    if not name:
        return None
    details = _object(row.get("details"))
    model = ModelInfo(
        name=name,
        digest=_text(row, "digest").removeprefix("sha256:"),
        size=_number(row, "size"),
        trained_window=_number(details, "context_length"),
        capabilities=_names(row.get("capabilities")),
        modified_at=_utc(_text(row, "modified_at")) or "",
    )
    return _located(_described(model, details), row, address)


def merge_show(model: ModelInfo, shown: Document, address: ServerAddress) -> ModelInfo:
    """Add what ``/api/show`` knows; it is trusted above the list."""
    facts = _object(shown.get("model_info"))
    capabilities = _names(shown.get("capabilities"))
    model = replace(
        _described(model, _object(shown.get("details"))),
        trained_window=_trained_window(facts) or model.trained_window,
        capabilities=capabilities if capabilities is not None else model.capabilities,
        kv_bytes_per_token=_kv_bytes(facts),
        modified_at=model.modified_at or _utc(_text(shown, "modified_at")) or "",
        licence=_first_line(_text(shown, "license")),
        template=_template_kind(shown),
    )
    return _located(model, shown, address)


def merge_running(models: Iterable[ModelInfo], running: Sequence[Document]) -> tuple[ModelInfo, ...]:
    """Add what ``/api/ps`` knows."""
    rows = {full_name(_text(row, "name") or _text(row, "model")): row for row in running}
    return tuple(_with_running(model, rows.get(full_name(model.name))) for model in models)


def _with_running(model: ModelInfo, row: Document | None) -> ModelInfo:
    if row is None:
        return model
    return replace(
        model,
        loaded=True,
        loaded_window=_number(row, "context_length"),
        loaded_size=_number(row, "size"),
        size_vram=_number(row, "size_vram"),
        expires_at=_utc(_text(row, "expires_at")),
    )


def _described(model: ModelInfo, details: Document) -> ModelInfo:
    return replace(
        model,
        parameters=one_line(_text(details, "parameter_size"), 20) or model.parameters,
        quantization=one_line(_text(details, "quantization_level"), 20) or model.quantization,
        family=one_line(_text(details, "family"), 40) or model.family,
    )


def _located(model: ModelInfo, row: Document, address: ServerAddress) -> ModelInfo:
    """Say where a model runs, by what proves it; a model without a proof stays unknown."""
    remote = _text(row, "remote_host")
    if is_cloud_name(model.name) or _is_ollama_cloud(remote):
        return replace(model, location=Location.CLOUD, proxied=True)
    if remote or _text(row, "remote_model"):
        return replace(model, location=Location.REMOTE, proxied=True)
    if model.proxied or not (model.digest and model.size):
        return model
    return replace(model, location=Location.LOCAL if address.is_loopback else Location.REMOTE)


def _is_ollama_cloud(remote_host: str) -> bool:
    host = urlsplit(remote_host if "//" in remote_host else f"//{remote_host}").hostname or ""
    return host == "ollama.com" or host.endswith(".ollama.com")


def _trained_window(facts: Document) -> int | None:
    named = _number(facts, f"{_text(facts, 'general.architecture')}.context_length")
    if named:
        return named
    ending = (key for key in facts if key.endswith(".context_length"))
    return next((_number(facts, key) for key in ending), None)


def _kv_bytes(facts: Document) -> int | None:
    """Bytes of cache for one token: keys and values of each layer's heads."""
    arch = _text(facts, "general.architecture")
    blocks = _number(facts, f"{arch}.block_count")
    heads = _number(facts, f"{arch}.attention.head_count")
    width = _number(facts, f"{arch}.embedding_length")
    key_length = _number(facts, f"{arch}.attention.key_length")
    value_length = _number(facts, f"{arch}.attention.value_length")
    if not key_length and heads and width:
        key_length = width // heads
    per_layer = facts.get(f"{arch}.attention.head_count_kv")
    if isinstance(per_layer, list) and per_layer and all(isinstance(count, int) for count in per_layer):
        kv_heads = sum(per_layer)
    else:
        kv_heads = (_number(facts, f"{arch}.attention.head_count_kv") or heads or 0) * (blocks or 0)
    if not kv_heads or not key_length:
        return None
    return kv_heads * (key_length + (value_length or key_length)) * _CACHE_BYTES


def _first_line(text: str) -> str:
    """The first line with a letter in it; a licence may come as pages of it."""
    lines = (one_line(line, 120) for line in text[:4000].splitlines())
    return next((line for line in lines if any(char.isalpha() for char in line)), "")


def _template_kind(shown: Document) -> str:
    named = _RENDERER.search(_text(shown, "modelfile")[:100_000])
    if named is not None:
        return one_line(f"{named[1]} renderer", 60)
    template = _text(shown, "template")
    if not template:
        return ""
    return "Jinja template" if "{%" in template else "Go template"


def _utc(text: str) -> str | None:
    """A time with an offset and up to nine decimals, in UTC with milliseconds."""
    try:
        moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _names(value: object) -> frozenset[str] | None:
    if not isinstance(value, list):
        return None
    return frozenset(name for name in value if isinstance(name, str))


def _text(row: Document, key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def _number(row: Document, key: str) -> int | None:
    value = row.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(value: object) -> Document:
    return value if isinstance(value, dict) else {}
