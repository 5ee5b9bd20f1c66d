"""Chooses a context window that fits the machine, and a model when nobody named one."""

from __future__ import annotations

from collections.abc import Sequence

from local_agent.domain.models import Location, ModelInfo, full_name

CANDIDATES = (16_384, 8_192, 4_096)
_MEMORY_SHARE = 0.75
"""The rest is the system's, the browser's, and ours."""
_RUNNER_OVERHEAD = 512 * 1024 * 1024
_TYPICAL_KV_BYTES = 128 * 1024
"""Of a model of seven to nine billion weights with grouped attention at 16 bits."""


def choose_window(setting: int | None, model: ModelInfo, memory: int | None) -> int:
    """Tokens of context to ask for; ``memory`` is the machine's, in bytes, None where unknown.

    A setting wins. Never more than the model was trained for: the server would cut it silently.
    """
    limit = model.trained_window
    if setting is not None:
        return min(setting, limit) if limit else setting
    if model.proxied:
        return limit or CANDIDATES[0]
    allowed = [window for window in CANDIDATES if not limit or window <= limit]
    if not allowed:
        return limit or CANDIDATES[-1]
    return next((window for window in allowed if _fits(model, window, memory)), allowed[-1])


def default_max_output(window: int) -> int:
    """Tokens a reply may have when nothing is set: half the window, for the other half was read."""
    return max(1, window // 2)


def choose_model(
    models: Sequence[ModelInfo], preferred: str | None, memory: int | None = None
) -> ModelInfo | None:
    """The preferred model if it is there; else one the server runs itself and that can chat.

    First what is loaded, then what fits in memory, then what was changed last, then by name.
    """
    if preferred:
        wanted = full_name(preferred)
        named = next((model for model in models if full_name(model.name) == wanted), None)
        if named is not None and named.can_chat:
            return named
    usable = [model for model in models if model.can_chat and _runs_there(model)]
    by_name = sorted(usable, key=lambda model: model.name)
    newest_first = sorted(by_name, key=lambda model: model.modified_at, reverse=True)
    return min(
        newest_first,
        key=lambda model: (not model.loaded, not _fits(model, CANDIDATES[-1], memory)),
        default=None,
    )


def _runs_there(model: ModelInfo) -> bool:
    return not model.proxied and model.location in (Location.LOCAL, Location.REMOTE)


def _fits(model: ModelInfo, window: int, memory: int | None) -> bool:
    if memory is None or model.size is None:
        return True
    cache = (model.kv_bytes_per_token or _TYPICAL_KV_BYTES) * window
    return model.size + cache + _RUNNER_OVERHEAD <= memory * _MEMORY_SHARE
