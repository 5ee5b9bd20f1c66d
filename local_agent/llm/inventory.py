"""What an Ollama server has: version, models, what is loaded; looked at again after 30 seconds."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence

import httpx

from local_agent.domain.errors import ModelError
from local_agent.domain.models import ModelInfo, ServerState, full_name, is_cloud_name
from local_agent.llm.error_words import read_error
from local_agent.llm.failures import Explainer, closed, no_model
from local_agent.llm.host import ServerAddress
from local_agent.llm.model_rows import merge_running, merge_show, row_to_model
from local_agent.llm.wire import knows_truncate, malformed

FRESH_SECONDS = 30.0
_TIMEOUT = httpx.Timeout(10.0, connect=5.0)
_SLOW_TIMEOUT = httpx.Timeout(60.0, connect=5.0)
"""Of lists and descriptions, which a server reads from its disk; that it lives is asked before them."""
_SHOWN_AT_ONCE = 4
_SHOWN_AT_MOST = 100
"""Models that an old server is asked about one by one; the rest is asked about when it is looked at."""
_BIG = 64 * 1024
"""Bytes of an answer above which it is read on a thread: 10,000 models would hold up the screen for 0.3 s."""

Document = Mapping[str, object]


class Inventory:
    """Asks the server and remembers. All errors are ``ModelError``."""

    def __init__(self, client: httpx.AsyncClient, address: ServerAddress) -> None:
        self._client = client
        self._address = address
        self._version: tuple[float, str | None] | None = None
        self._models: tuple[float, tuple[ModelInfo, ...]] | None = None
        self._shown: dict[tuple[str, str], Document] = {}
        """``/api/show`` by name and digest: what a digest names never changes."""

    async def state(self) -> ServerState:
        """Look now. A server that can't be reached is a state, not an error."""
        try:
            version = await self.version(fresh=True)
            models, running = await asyncio.gather(self.models(fresh=True), self._running())
        except ModelError as error:
            return ServerState(self._address.url, reachable=False, problem=error.line, hint=error.hint)
        merged = await self._fill_old(merge_running(models, running or ()))
        return ServerState(
            self._address.url,
            reachable=True,
            version=version,
            models=merged,
            cuts_prompts=not knows_truncate(version),
        )

    async def version(self, *, fresh: bool = False) -> str | None:
        """The server's version; None when it does not say one."""
        if self._version is None or fresh or _is_old(self._version[0]):
            document = await self._get("/api/version")
            version = document.get("version")
            self._version = (time.monotonic(), version if isinstance(version, str) else None)
        return self._version[1]

    async def models(self, *, fresh: bool = False) -> tuple[ModelInfo, ...]:
        """The models of ``/api/tags``, without what only ``/api/show`` knows."""
        if self._models is None or fresh or _is_old(self._models[0]):
            rows = _rows(await self._get("/api/tags", _SLOW_TIMEOUT))
            self._models = (time.monotonic(), await asyncio.to_thread(_read_models, rows, self._address))
        return self._models[1]

    async def find(self, name: str) -> ModelInfo | None:
        """The row of one model, or None when the server does not list it. A cloud name needs no row.

        One that was listed before is taken as it was then: no question waits for a slow list again.
        """
        wanted = full_name(name)
        listed = self._row(wanted)
        if listed is None:
            await self.models()
            listed = self._row(wanted)
        if listed is None and is_cloud_name(name):
            return row_to_model({"name": name}, self._address)
        return listed

    async def describe(self, name: str) -> ModelInfo:
        """Everything known of one model; raises ``ModelError`` when it is not there."""
        _, running = await asyncio.gather(self.models(), self._running())
        model = self._row(full_name(name)) or row_to_model({"name": name}, self._address)
        if model is None:
            raise no_model(name)
        shown = merge_show(model, await self._show(model), self._address)
        return merge_running((shown,), running or ())[0]

    async def loaded(self, name: str) -> bool | None:
        """Whether a model is in memory; None when the server does not tell."""
        running = await self._running()
        if running is None:
            return None
        return any(full_name(str(row.get("name") or row.get("model"))) == full_name(name) for row in running)

    async def unload(self, name: str) -> None:
        """Take a model out of memory; raises ``ModelError`` for one that the server does not have."""
        await self._ask("POST", "/api/generate", {"model": name, "keep_alive": 0}, name, _SLOW_TIMEOUT)

    def forget(self) -> None:
        """Look again before the next answer: the server's models have changed."""
        self._models = None

    async def _fill_old(self, models: Sequence[ModelInfo]) -> tuple[ModelInfo, ...]:
        """Ask one by one where the list does not say what a model can do (before 0.30), the newest first."""
        turn = asyncio.Semaphore(_SHOWN_AT_ONCE)
        unknown = [model for model in models if model.capabilities is None and not model.proxied]
        asked = sorted(unknown, key=lambda model: model.modified_at, reverse=True)[:_SHOWN_AT_MOST]
        names = {model.name for model in asked}

        async def filled(model: ModelInfo) -> ModelInfo:
            if model.name not in names:
                return model
            async with turn:
                try:
                    return merge_show(model, await self._show(model), self._address)
                except ModelError:
                    return model

        return tuple(await asyncio.gather(*(filled(model) for model in models)))

    def _row(self, wanted: str) -> ModelInfo | None:
        listed = self._models[1] if self._models is not None else ()
        return next((model for model in listed if full_name(model.name) == wanted), None)

    async def _show(self, model: ModelInfo) -> Document:
        key = (model.name, model.digest)
        if key not in self._shown or not model.digest:
            self._shown[key] = await self._ask(
                "POST", "/api/show", {"model": model.name}, model.name, _SLOW_TIMEOUT
            )
        return self._shown[key]

    async def _running(self) -> Sequence[Document] | None:
        try:
            return _rows(await self._get("/api/ps"))
        except ModelError:
            return None

    async def _get(self, path: str, patience: httpx.Timeout = _TIMEOUT) -> Document:
        return await self._ask("GET", path, None, "", patience)

    async def _ask(
        self,
        method: str,
        path: str,
        body: Document | None,
        model: str,
        patience: httpx.Timeout = _TIMEOUT,
    ) -> Document:
        if self._client.is_closed:
            raise closed(self._address)
        explain = Explainer(self._address, model)
        try:
            response = await self._client.request(method, path, json=body, timeout=patience)
        except httpx.HTTPError as error:
            raise explain.transport(error, begun=False) from error
        if response.status_code != 200:
            words = read_error(response.content, response.headers.get("content-type", ""))
            raise explain.status(response.status_code, words, response.headers)
        content = response.content
        document = _decode(content) if len(content) <= _BIG else await asyncio.to_thread(_decode, content)
        if not isinstance(document, dict):
            raise malformed(f"something other than a JSON object for {path}", response.text[:500])
        return document


def _decode(content: bytes) -> object:
    try:
        return json.loads(content.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _read_models(rows: Sequence[Document], address: ServerAddress) -> tuple[ModelInfo, ...]:
    """Those rows that name a model, each name once."""
    found = (row_to_model(row, address) for row in rows)
    by_name: dict[str, ModelInfo] = {}
    for model in found:
        if model is not None:
            by_name.setdefault(full_name(model.name), model)
    return tuple(by_name.values())


def _rows(document: Document) -> list[Document]:
    rows = document.get("models")
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []


def _is_old(looked_at: float) -> bool:
    return time.monotonic() - looked_at > FRESH_SECONDS
