"""Which models are loaded, with which options, and until when: on a clock that a test can advance."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.support.ollama_server.registry import ModelSpec, running

_RUNNER_OPTIONS = ("num_ctx", "num_batch", "num_gpu", "main_gpu", "use_mmap", "num_thread")
_FOREVER = timedelta(days=365 * 292)


@dataclass
class Loaded:
    """One model in memory."""

    model: ModelSpec
    window: int
    runner: tuple[object, ...]
    expires: float | None
    """On the clock of ``Memory``; None is never."""


class Memory:
    """The ledger of loaded models."""

    def __init__(self) -> None:
        self._loaded: dict[str, Loaded] = {}
        self._skipped = 0.0
        self.loads: list[tuple[str, int]] = []
        """Every load and reload: model and window, in order."""

    def advance(self, seconds: float) -> None:
        """Let time pass for ``keep_alive``."""
        self._skipped += seconds

    def _now(self) -> float:
        return time.monotonic() + self._skipped

    def _sweep(self) -> None:
        now = self._now()
        self._loaded = {
            name: loaded
            for name, loaded in self._loaded.items()
            if loaded.expires is None or loaded.expires > now
        }

    def needs_load(self, model: ModelSpec, window: int, body: Mapping[str, object]) -> bool:
        """True when the model is not there, or there with other options."""
        self._sweep()
        loaded = self._loaded.get(model.name)
        return loaded is None or loaded.runner != _runner(window, body)

    def is_loaded(self, name: str) -> bool:
        """Whether a model is in memory now."""
        self._sweep()
        return name in self._loaded

    def load(self, model: ModelSpec, window: int, body: Mapping[str, object]) -> None:
        """Record that a load is complete."""
        self.loads.append((model.name, window))
        self._loaded[model.name] = Loaded(model, window, _runner(window, body), None)

    def keep(self, name: str, seconds: float | None) -> None:
        """Start a model's ``keep_alive``; 0 unloads."""
        if name in self._loaded:
            self._loaded[name].expires = None if seconds is None else self._now() + seconds
        self._sweep()

    def rows(self, version: str) -> list[dict[str, object]]:
        """The rows of ``/api/ps``."""
        self._sweep()
        now = self._now()
        rows = []
        for loaded in self._loaded.values():
            left = _FOREVER if loaded.expires is None else timedelta(seconds=loaded.expires - now)
            expires_at = (datetime.now(UTC) + left).isoformat()
            rows.append(running(loaded.model, version, loaded.window, expires_at))
        return rows


def _runner(window: int, body: Mapping[str, object]) -> tuple[object, ...]:
    options = body.get("options") or {}
    given = options if isinstance(options, dict) else {}
    return (window, body.get("shift"), *(given.get(name) for name in _RUNNER_OPTIONS[1:]))
