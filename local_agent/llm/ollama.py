"""An Ollama server as a backend: replies, and what the server has."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

import httpx

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.models import ModelInfo, PullProgress, ServerState
from local_agent.domain.ports import ChatRequest, NoticePart, StreamPart
from local_agent.llm.body import Body
from local_agent.llm.chat_stream import TIMEOUT, stream_reply
from local_agent.llm.failures import Unanswered, closed
from local_agent.llm.host import ServerAddress, is_this_machine, without_variable
from local_agent.llm.inventory import Inventory
from local_agent.llm.pull import pull
from local_agent.llm.wire import chat_body, knows_truncate

with without_variable():
    import ollama

_BUSY_PAUSES = (0.5, 1.5)


class OllamaBackend:
    """Talks to one server. Implements ``domain.ports.Backend``."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        # No proxy for loopback, no redirect to another host; so plain http to loopback meets no TLS,
        # and need not spend 50 ms on loading certificates.
        self._client = ollama.AsyncClient(
            address.url,
            timeout=TIMEOUT,
            follow_redirects=False,
            trust_env=not address.is_loopback,
            verify=address.scheme == "https" or not address.is_loopback,
        )
        self._http: httpx.AsyncClient = self._client._client
        if not address.is_loopback and address.scheme == "http":
            # The library sends OLLAMA_API_KEY to any host it is given; it must not go out in the clear.
            self._http.headers.pop("authorization", None)
        self._inventory = Inventory(self._http, address)
        self._no_thinking: set[str] = set()
        """Digests of models that refused ``think``."""
        self._no_tools: set[str] = set()
        """Digests of models that refused ``tools``."""

    @property
    def kind(self) -> str:
        """``ollama``."""
        return "ollama"

    @property
    def address(self) -> str:
        """The server's URL."""
        return self._address.url

    async def state(self) -> ServerState:
        """Look at the server now; never raises for an unreachable one."""
        return await self._inventory.state()

    async def describe(self, model: str) -> ModelInfo:
        """Everything known of one model; raises ``ModelError`` when it is not there."""
        return await self._inventory.describe(model)

    async def loaded(self, model: str) -> bool | None:
        """Whether the model is in memory now; None when that can't be known."""
        return await self._inventory.loaded(model)

    async def pull(self, model: str) -> AsyncGenerator[PullProgress, None]:
        """Fetch a model; see ``llm.pull``."""
        await self._check()
        try:
            async with aclosing(pull(self._http, self._address, model)) as steps:
                async for step in steps:
                    yield step
        finally:
            # Half of it or the whole of it may be there now.
            self._inventory.forget()

    async def unload(self, model: str) -> None:
        """Have the server free the model's memory; a reply that is being written is finished first."""
        await self._check()
        await self._inventory.unload(model)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamPart, None]:
        """Stream one reply. Closing the generator closes the connection, which stops the server.

        Asked again only while nothing has arrived: without ``think`` or ``tools`` when that is refused,
        twice after a pause when the server is busy, once when the connection was closed unanswered.
        """
        await self._check()
        version, model = await self._version(), await self._find(request.model)
        digest = (model.digest if model else "") or request.model
        retries = _Retries()
        while True:
            think = None if digest in self._no_thinking else request.think
            tools = bool(request.tools) and digest not in self._no_tools
            value = chat_body(
                request,
                window=not (model and model.proxied),
                truncate_known=knows_truncate(version),
                think=think,
                tools=tools,
            )
            body = Body(value, request.messages, request.picture_bytes)
            begun = False
            try:
                async with aclosing(stream_reply(self._http, self._address, request.model, body)) as parts:
                    async for part in parts:
                        begun = True
                        yield part
                return
            except ModelError as error:
                if begun:
                    raise
                if error.kind is ModelErrorKind.NO_THINKING and think is not None:
                    self._no_thinking.add(digest)
                    notice = f"{request.model} can't think aloud; it was asked without."
                elif error.kind is ModelErrorKind.NO_TOOLS and tools:
                    self._no_tools.add(digest)
                    notice = f"{request.model} can't call tools; it was asked without."
                else:
                    notice = await retries.wait(error)
            if notice:
                yield NoticePart(notice)

    async def _check(self) -> None:
        """A name that means this machine is looked up whenever a conversation is sent there."""
        if self._http.is_closed:
            raise closed(self._address)
        if not (self._address.is_loopback and self._address.is_name):
            return
        if not await asyncio.to_thread(is_this_machine, self._address.host):
            raise ModelError(
                ModelErrorKind.UNREACHABLE,
                f"The name {self._address.host} does not lead to this machine.",
                "Set OLLAMA_HOST or ollama.host to 127.0.0.1.",
            )

    async def _version(self) -> str | None:
        try:
            return await self._inventory.version()
        except ModelError as error:
            if error.kind is ModelErrorKind.UNREACHABLE:
                raise
            return None

    async def _find(self, name: str) -> ModelInfo | None:
        try:
            return await self._inventory.find(name)
        except ModelError as error:
            if error.kind is ModelErrorKind.UNREACHABLE:
                raise
            return None


class _Retries:
    """What may be asked again for one reply."""

    def __init__(self) -> None:
        self._pauses = list(_BUSY_PAUSES)
        self._reconnect = True

    async def wait(self, error: ModelError) -> str:
        """Wait until it is time to ask again, and say why; raises ``error`` when it never is."""
        if isinstance(error, Unanswered) and self._reconnect:
            self._reconnect = False
            return ""
        if error.kind is ModelErrorKind.BUSY and self._pauses:
            await asyncio.sleep(self._pauses.pop(0))
            return "The server was busy; it is asked again."
        raise error
