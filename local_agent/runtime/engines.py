"""The backends of one process: which one answers, whether it may be reached, what it holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from local_agent.config.paths import Paths
from local_agent.config.preferences import Preferences, remember
from local_agent.config.settings import Settings
from local_agent.domain.errors import ConfigError, ModelError, ModelErrorKind
from local_agent.domain.ports import Backend
from local_agent.llm.demo import DemoProgress, cached_model, fetch
from local_agent.llm.host import ServerAddress, parse_host
from local_agent.runtime.refused import RefusedBackend


class Engines:
    """Makes each backend once and closes them all."""

    def __init__(self, settings: Settings, paths: Paths) -> None:
        self._settings = settings
        self._paths = paths
        self._server: ServerAddress = parse_host(settings.ollama.host)
        self._allowed = self._server.is_loopback or self._is_allowed()
        if not self._server.is_loopback and settings.privacy.local_only:
            raise ConfigError(
                f"privacy.local_only is on, and {self._server.display} is not this machine.",
                "Turn it off, or set ollama.host to this machine.",
            )
        self._backends: dict[tuple[str, str], Backend] = {}
        self._current: tuple[str, str] = ("ollama", self._server.url)

    @property
    def current(self) -> Backend:
        """The backend of new conversations."""
        return self.get(*self._current)

    @property
    def server(self) -> Backend:
        """The Ollama server, whatever new conversations run on."""
        return self._ollama()

    @property
    def consent_needed(self) -> str | None:
        """The address that the person has to allow before anything is sent there."""
        return None if self._allowed or self._current[0] != "ollama" else self._server.display

    async def allow_server(self, *, remember: bool) -> None:
        """The person agreed that the conversation leaves this machine."""
        self._allowed = True
        if remember:
            await asyncio.to_thread(self._remember_server)

    def use_embedded(self, gguf: Path) -> Backend:
        """New conversations run in this process, on ``gguf``."""
        self._current = ("embedded", str(gguf))
        return self.current

    def get(self, kind: str, address: str) -> Backend:
        """The backend of this kind at this address, or one that says why it can't be used."""
        if kind == "ollama":
            return self._ollama()
        if not Path(address).is_file():
            return RefusedBackend(
                kind,
                address,
                ModelError(
                    ModelErrorKind.ENGINE,
                    f"The model file of this conversation is gone: {address}",
                    "Put it back, or choose another model with /model.",
                ),
            )
        key = (kind, address)
        if key not in self._backends:
            from local_agent.llm.embedded import EmbeddedBackend

            self._backends[key] = EmbeddedBackend(
                Path(address),
                threads=self._settings.embedded.threads,
                crash_marker=self._paths.engine_marker,
            )
        return self._backends[key]

    def cached_demo(self) -> Path | None:
        """The demo model's file where it was fetched before."""
        return cached_model(self._paths.cache)

    async def fetch_demo(self, progress: Callable[[DemoProgress], None]) -> Path:
        """Get the demo model once; see ``llm.demo``."""
        return await fetch(self._paths.cache, progress)

    async def close(self) -> None:
        """Close every backend that was made."""
        for backend in self._backends.values():
            await backend.close()
        self._backends.clear()

    def _ollama(self) -> Backend:
        if not self._allowed:
            return RefusedBackend(
                "ollama",
                self._server.url,
                ModelError(
                    ModelErrorKind.UNAUTHORIZED,
                    f"{self._server.display} is not this machine, and you have not allowed it yet.",
                    f"Allow it with privacy.allowed_hosts: [{self._server.display}] in config.yaml.",
                ),
            )
        key = ("ollama", self._server.url)
        if key not in self._backends:
            from local_agent.llm.ollama import OllamaBackend

            self._backends[key] = OllamaBackend(self._server)
        return self._backends[key]

    def _is_allowed(self) -> bool:
        # A file that can't be read remembers nothing: the person is asked again.
        remembered = Preferences.read_or_none(self._paths.preferences)[0].allowed_hosts
        allowed = {*self._settings.privacy.allowed_hosts, *remembered}
        return not allowed.isdisjoint((self._server.display, self._server.host))

    def _remember_server(self) -> None:
        known, _ = Preferences.read_or_none(self._paths.preferences)
        hosts = dict.fromkeys((*known.allowed_hosts, self._server.display))
        remember(self._paths.preferences, allowed_hosts=tuple(hosts))
