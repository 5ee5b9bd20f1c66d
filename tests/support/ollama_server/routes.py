"""The routes of the Ollama API: inventory, and chat from a request to the Turn that answers it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import TYPE_CHECKING

from tests.support.ollama_server import registry, window
from tests.support.ollama_server.connection import Request, Response
from tests.support.ollama_server.log import RequestRecord
from tests.support.ollama_server.player import Player, Stage
from tests.support.ollama_server.registry import ModelSpec, full_name, is_cloud_name
from tests.support.ollama_server.validation import Refusal, check_model, check_shape, seconds

if TYPE_CHECKING:
    from tests.support.ollama_server.server import OllamaServer

Answer = Callable[[Request, Response, RequestRecord], Awaitable[None]]
_TEXT = "text/plain; charset=utf-8"
_SIGN_IN = "https://ollama.com/connect?name=test&key=abc"


class ApiRoutes:
    """Answers requests from the server's registry, memory and script."""

    def __init__(self, server: OllamaServer) -> None:
        self._server = server
        self._slots: dict[str, asyncio.Lock] = {}
        self._waiting = 0
        self._routes: dict[str, dict[str, Answer]] = {
            "/": {"GET": self._root, "HEAD": self._root},
            "/api/version": {"GET": self._version, "HEAD": self._version},
            "/api/tags": {"GET": self._tags, "HEAD": self._tags},
            "/api/ps": {"GET": self._ps},
            "/api/show": {"POST": self._show},
            "/api/chat": {"POST": self._chat},
            "/api/generate": {"POST": self._generate},
            "/api/pull": {"POST": self._pull},
        }

    async def answer(self, request: Request, response: Response, record: RequestRecord) -> None:
        """Answer one request, refusals included."""
        methods = self._routes.get(request.path)
        if methods is None:
            await response.whole(404, b"404 page not found", _TEXT)
            return
        if request.method not in methods:
            await response.whole(405, b"405 method not allowed", _TEXT)
            return
        try:
            await methods[request.method](request, response, record)
        except Refusal as refusal:
            await response.json(refusal.status, {"error": refusal.error})

    async def _root(self, request: Request, response: Response, record: RequestRecord) -> None:
        await response.whole(200, b"Ollama is running", _TEXT)

    async def _version(self, request: Request, response: Response, record: RequestRecord) -> None:
        await response.json(200, {"version": self._server.version})

    async def _tags(self, request: Request, response: Response, record: RequestRecord) -> None:
        rows = [registry.tag(model, self._server.version) for model in self._server.models.values()]
        await response.json(200, {"models": rows})

    async def _ps(self, request: Request, response: Response, record: RequestRecord) -> None:
        await response.json(200, {"models": self._server.memory.rows(self._server.version)})

    async def _show(self, request: Request, response: Response, record: RequestRecord) -> None:
        body = record.json if isinstance(record.json, dict) else {}
        name = str(body.get("model") or body.get("name") or "")
        if not name:
            raise Refusal(400, "model is required")
        model = self._server.models.get(full_name(name)) or _cloud_model(name)
        if model is None:
            raise Refusal(404, f"model '{full_name(name)}' not found")
        await response.json(200, registry.show(model, self._server.version))

    async def _generate(self, request: Request, response: Response, record: RequestRecord) -> None:
        body = record.json if isinstance(record.json, dict) else {}
        model = self._find(str(body.get("model") or ""))
        if body.get("prompt"):
            raise Refusal(500, "the scripted server loads and unloads through /api/generate, nothing else")
        await self._load_or_unload(body, model, response, {"response": ""})

    async def _pull(self, request: Request, response: Response, record: RequestRecord) -> None:
        body = record.json if isinstance(record.json, dict) else {}
        name = str(body.get("model") or "")
        if not name:
            raise Refusal(400, "invalid model name")
        await self._server.library.play(name, response)

    async def _chat(self, request: Request, response: Response, record: RequestRecord) -> None:
        body = check_shape(record.json)
        model = self._find(str(body["model"]))
        if model.engine == "cloud":
            if not self._server.signed_in:
                await response.json(401, {"error": "unauthorized", "signin_url": _SIGN_IN})
                return
        else:
            check_model(body, model, self._server.version)
        if not body.get("messages"):
            empty = {"message": {"role": "assistant", "content": ""}}
            await self._load_or_unload(body, model, response, empty)
            return
        async with self._slot(model):
            await self._play(body, model, response, record)

    def _find(self, name: str) -> ModelSpec:
        model = self._server.models.get(full_name(name)) or _cloud_model(name)
        if model is None:
            raise Refusal(404, f"model '{name}' not found")
        return model

    async def _load_or_unload(
        self, body: Mapping[str, object], model: ModelSpec, response: Response, empty: Mapping[str, object]
    ) -> None:
        kept = seconds(body.get("keep_alive"))
        if kept != 0:
            await self._load(body, model)
        self._server.memory.keep(model.name, kept)
        reason = "unload" if kept == 0 else "load"
        value = {"model": body["model"], "created_at": "2026-05-04T08:11:12Z", **empty}
        await response.json(200, {**value, "done": True, "done_reason": reason})

    async def _load(self, body: Mapping[str, object], model: ModelSpec) -> float:
        """Load the model when needed; seconds it took. A client that leaves aborts the load."""
        options = body.get("options")
        size = window.resolve(options if isinstance(options, dict) else {}, model)
        memory = self._server.memory
        if not memory.needs_load(model, size, body):
            return 0.0
        await asyncio.sleep(model.load_seconds)
        if model.load_error and size > model.most_window:
            raise Refusal(500, model.load_error)
        memory.load(model, size, body)
        return model.load_seconds

    async def _play(
        self, body: Mapping[str, object], model: ModelSpec, response: Response, record: RequestRecord
    ) -> None:
        took = 0.0
        if model.engine != "cloud":
            loaded_before = self._server.memory.is_loaded(model.name)
            loads_before = len(self._server.memory.loads)
            took = await self._load(body, model)
            record.reloaded = loaded_before and len(self._server.memory.loads) > loads_before
            self._fit(body, model, record)
        turn = self._server.next_turn(model.name, dict(body))
        if turn is None:
            record.scripted = False
            raise Refusal(500, "script exhausted")
        stage = Stage(
            response=response,
            record=record,
            model=model,
            answers_as=str(body["model"]).removesuffix(":cloud").removesuffix("-cloud"),
            version=self._server.version,
            stream=body.get("stream") is not False,
            load_seconds=took,
            wait_gate=self._server.wait_gate,
        )
        try:
            await Player(stage).play(turn)
        finally:
            self._server.memory.keep(model.name, seconds(body.get("keep_alive")))

    def _fit(self, body: Mapping[str, object], model: ModelSpec, record: RequestRecord) -> None:
        options = body.get("options")
        record.window = window.resolve(options if isinstance(options, dict) else {}, model)
        fitted = window.fit(body, model, record.window, self._server.version)
        record.prompt_tokens, record.dropped = fitted.tokens, fitted.dropped

    @contextlib.asynccontextmanager
    async def _slot(self, model: ModelSpec) -> AsyncIterator[None]:
        """One request at a time for a model; the others wait in silence, up to ``max_queue``."""
        if self._waiting >= self._server.max_queue:
            raise Refusal(503, "server busy, please try again.  maximum pending requests exceeded")
        slot = self._slots.setdefault(model.name, asyncio.Lock())
        self._waiting += 1
        try:
            await slot.acquire()
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            slot.release()


def _cloud_model(name: str) -> ModelSpec | None:
    """What a cloud name needs no manifest for."""
    return ModelSpec(name, ("completion", "tools", "thinking"), "cloud") if is_cloud_name(name) else None
