"""A backend that may not or cannot be used: it answers every call with the same sentence."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from local_agent.domain.errors import ModelError
from local_agent.domain.models import ModelInfo, PullProgress, ServerState
from local_agent.domain.ports import ChatRequest, StreamPart


class RefusedBackend:
    """Stands where a backend would: a host without consent, an engine file that is gone."""

    def __init__(self, kind: str, address: str, error: ModelError) -> None:
        self.kind = kind
        self.address = address
        self._error = error

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamPart, None]:
        """Refuse."""
        raise self._error
        yield  # an async generator by its signature

    async def state(self) -> ServerState:
        """Say why nothing is reached."""
        return ServerState(self.address, reachable=False, problem=self._error.line, hint=self._error.hint)

    async def describe(self, model: str) -> ModelInfo:
        """Refuse."""
        raise self._error

    async def loaded(self, model: str) -> bool | None:
        """Not known."""
        return None

    async def pull(self, model: str) -> AsyncGenerator[PullProgress, None]:
        """Refuse."""
        raise self._error
        yield  # an async generator by its signature

    async def unload(self, model: str) -> None:
        """Refuse."""
        raise self._error

    async def close(self) -> None:
        """Nothing was opened."""
