"""What a process learns of its models: how servers count, and which windows were too large here."""

from __future__ import annotations

import asyncio
from pathlib import Path

from local_agent.agent import sentences
from local_agent.config.preferences import Preferences, remember
from local_agent.domain.budget import Calibration
from local_agent.domain.errors import ConfigError, ModelError
from local_agent.domain.models import ModelInfo
from local_agent.domain.ports import Backend
from local_agent.llm.windows import smaller_window, spills

_DIGEST = 12
"""Characters that tell a person's models apart."""
_KEPT = 8
"""Models whose windows are remembered, the newest: the file is a small one."""


class Learned:
    """One for all conversations of a process."""

    def __init__(self, preferences: Path | None = None) -> None:
        """Without ``preferences`` nothing is remembered, and nothing is read."""
        self.calibration = Calibration()
        """What servers count for what we estimate."""
        self._preferences = preferences
        self._windows: dict[str, int] | None = None

    def most_window(self, model: ModelInfo) -> int | None:
        """Tokens of context that fit, where more was found not to."""
        if self._windows is None:
            kept = Preferences.read_or_none(self._preferences)[0] if self._preferences else Preferences()
            self._windows = dict(kept.windows)
        return self._windows.get(model.digest[:_DIGEST]) if model.digest else None

    def smaller(self, model: ModelInfo, window: int) -> int | None:
        """What is tried in place of a window that is too large: once for each model."""
        if model.proxied or not model.digest or self.most_window(model) is not None:
            return None
        return smaller_window(window)

    async def fell(self, model: ModelInfo, window: int) -> str:
        """``window`` is what fits from now on; a line where that can't be remembered."""
        self.most_window(model)
        windows = self._windows or {}
        windows[model.digest[:_DIGEST]] = window
        self._windows = dict(list(windows.items())[-_KEPT:])
        if self._preferences is None:
            return ""
        try:
            return await asyncio.to_thread(remember, self._preferences, windows=self._windows)
        except ConfigError as error:
            return f"The smaller window counts here, and is not remembered. {error}"


class WindowWatch:
    """Looks once for each model of a conversation whether it lies in memory whole, when it is loaded."""

    def __init__(self, learned: Learned) -> None:
        self._learned = learned
        self._seen: set[str] = set()

    async def look(self, backend: Backend, model: ModelInfo, window: int) -> tuple[str, ...]:
        """Lines for the person when the model is asked with a smaller window from now on."""
        smaller = self._learned.smaller(model, window)
        if smaller is None or model.digest in self._seen:
            return ()
        try:
            found = await backend.describe(model.name)
        except ModelError:
            return ()
        if found.loaded_window != window:
            return ()
        self._seen.add(model.digest)
        if not spills(found):
            return ()
        line = await self._learned.fell(model, smaller)
        said = sentences.smaller_window(model.name, window, smaller)
        return (said, line) if line else (said,)
