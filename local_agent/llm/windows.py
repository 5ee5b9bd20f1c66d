"""Chooses a context window that fits the machine, and a model when nobody named one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from local_agent.domain.models import Fit, Location, ModelInfo, Speed, full_name
from local_agent.domain.thinking import Thinking

CANDIDATES = (16_384, 8_192, 4_096)
_MEMORY_SHARE = 0.75
"""The rest is the system's, the browser's, and ours."""
_TIGHT_SHARE = 0.95
"""Above it a machine is sure to swap, or its model to be killed."""
_RUNNER_OVERHEAD = 512 * 1024 * 1024
_TYPICAL_KV_BYTES = 128 * 1024
"""Of a model of seven to nine billion weights with grouped attention at 16 bits."""


def choose_window(
    setting: int | None, model: ModelInfo, memory: int | None, at_most: int | None = None
) -> int:
    """Tokens of context to ask for; ``memory`` is the machine's, in bytes, None where unknown.

    A setting wins. Never more than the model was trained for: the server would cut it silently. ``at_most``
    is what was found to be as much as the machine can hold.
    """
    limit = model.trained_window
    if setting is not None:
        return min(setting, limit) if limit else setting
    if model.proxied:
        return limit or CANDIDATES[0]
    allowed = [window for window in CANDIDATES if window <= min(limit or window, at_most or window)]
    if not allowed:
        return limit or CANDIDATES[-1]
    return next((window for window in allowed if _fits(model, window, memory)), allowed[-1])


def smaller_window(window: int) -> int | None:
    """What is tried where a window turned out too large; None where it is the smallest already."""
    return next((candidate for candidate in CANDIDATES if candidate < window), None)


def spills(model: ModelInfo) -> bool:
    """Whether a loaded model lies in a GPU's memory in part only, which makes it many times slower."""
    return 0 < (model.size_vram or 0) < (model.loaded_size or 0)


def default_max_output(window: int) -> int:
    """Tokens a reply may have when nothing is set: half the window, for the other half was read."""
    return max(1, window // 2)


def choose_model(
    models: Sequence[ModelInfo],
    preferred: str | None,
    memory: int | None = None,
    *,
    needs: frozenset[str] = frozenset(),
    speeds: Mapping[str, Speed] | None = None,
) -> ModelInfo | None:
    """The preferred model if it is there; else one the server runs itself, that can chat and has ``needs``.

    First what is loaded, then what fits in memory, then what was fastest here (``speeds``, by full
    name), then what was changed last, then by name. ``needs`` are capabilities, such as ``vision``.
    """
    if preferred:
        wanted = full_name(preferred)
        named = next((model for model in models if full_name(model.name) == wanted), None)
        if named is not None and named.can_chat:
            return named
    usable = [model for model in models if model.can_chat and _runs_there(model) and _has(model, needs)]
    by_name = sorted(usable, key=lambda model: model.name)
    newest_first = sorted(by_name, key=lambda model: model.modified_at, reverse=True)
    return min(
        newest_first,
        key=lambda model: (
            not model.loaded,
            not _fits(model, CANDIDATES[-1], memory),
            -_per_second(model, speeds or {}),
        ),
        default=None,
    )


def needed_bytes(model: ModelInfo, window: int) -> int | None:
    """Memory that a model takes with its window; None where its size is not known."""
    if model.size is None:
        return None
    return model.size + (model.kv_bytes_per_token or _TYPICAL_KV_BYTES) * window + _RUNNER_OVERHEAD


def judge_fit(model: ModelInfo, window: int, memory: int | None) -> Fit:
    """Whether a machine with ``memory`` bytes holds the model and ``window`` tokens, by their sizes.

    Known only of models that run on this machine. One that is loaded has proved it.
    """
    needed = needed_bytes(model, window)
    if model.location is not Location.LOCAL or model.proxied:
        return Fit.UNKNOWN
    if model.loaded:
        return Fit.FITS
    if needed is None or memory is None:
        return Fit.UNKNOWN
    if needed <= memory * _MEMORY_SHARE:
        return Fit.FITS
    return Fit.TIGHT if needed <= memory * _TIGHT_SHARE else Fit.TOO_BIG


def think_for(model: ModelInfo | None, wanted: Thinking | None) -> Thinking | None:
    """What ``think`` is sent to a model for what the person wants; None is not sent."""
    if wanted is None or model is None:
        return wanted
    if model.can_think is False:
        return None
    if model.thinks_in_levels and isinstance(wanted, bool):
        # It can't be told not to think at all.
        return "medium" if wanted else "low"
    return wanted


def _runs_there(model: ModelInfo) -> bool:
    return not model.leaves


def _has(model: ModelInfo, needs: frozenset[str]) -> bool:
    return not needs or needs <= (model.capabilities or frozenset())


def _per_second(model: ModelInfo, speeds: Mapping[str, Speed]) -> float:
    speed = speeds.get(full_name(model.name))
    return (speed.tokens_per_second or 0.0) if speed is not None else 0.0


def _fits(model: ModelInfo, window: int, memory: int | None) -> bool:
    needed = needed_bytes(model, window)
    return memory is None or needed is None or needed <= memory * _MEMORY_SHARE
