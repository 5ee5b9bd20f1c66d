"""The listener, the queues of the script, and what a test reads and steers."""

from __future__ import annotations

import asyncio
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from tests.support.ollama_server.dispatch import Dispatcher
from tests.support.ollama_server.faults import Fault
from tests.support.ollama_server.library import Library, Offer
from tests.support.ollama_server.log import RequestRecord
from tests.support.ollama_server.memory import Memory
from tests.support.ollama_server.registry import ModelSpec, full_name
from tests.support.ollama_server.script import Turn

ANY_MODEL = ""
DEFAULT_MODEL = ModelSpec("llama3.2:3b")


class OllamaServer:
    """A scripted Ollama on a loopback port. Scripting and reading are safe from any thread."""

    def __init__(
        self,
        models: Iterable[ModelSpec] = (DEFAULT_MODEL,),
        *,
        version: str = "0.33.0",
        default: Turn | None = None,
        port: int = 0,
        strict: bool = True,
    ) -> None:
        self.models = {model.name: model for model in models}
        self.version = version
        self.default = default
        """Played when the script has nothing; for demonstrations only."""
        self.signed_in = True
        self.max_queue = 512
        self.memory = Memory()
        self.library = Library(self._add_model, self.wait_gate)
        self.log: list[RequestRecord] = []
        self._strict = strict
        self._port = port
        self._turns: dict[str, deque[Turn]] = {}
        self.faults: list[Fault] = []
        self._gates: dict[str, asyncio.Event] = {}
        self._listener: asyncio.Server | None = None
        self._dispatcher = Dispatcher(self)

    async def __aenter__(self) -> OllamaServer:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
        if kind is None:
            self.check()

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT``; the same after ``refuse`` and ``accept``."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def chats(self) -> list[RequestRecord]:
        """The chat requests so far."""
        return [record for record in self.log if record.path == "/api/chat"]

    def script(self, *turns: Turn | str, model: str = ANY_MODEL) -> None:
        """Append turns for one model, or for whichever model asks."""
        queue = self._turns.setdefault(full_name(model) if model else ANY_MODEL, deque())
        queue.extend(turn if isinstance(turn, Turn) else Turn(turn) for turn in turns)

    def offer(self, model: ModelSpec, **how: Any) -> Offer:
        """Have a model that can be pulled; ``how`` as in ``Offer``."""
        return self.library.offer(Offer(model, **how))

    def fault(self, *faults: Fault) -> None:
        """Append faults; each is used up by one request to its path."""
        self.faults.extend(faults)

    def release(self, gate: str) -> None:
        """Open a gate, for the step that waits there or will."""
        self._loop.call_soon_threadsafe(self._gate(gate).set)

    def reset(self) -> None:
        """Forget script, faults, gates, log and loaded models."""
        self._turns.clear()
        self.faults.clear()
        self._gates.clear()
        self.log.clear()
        self.memory = Memory()

    def check(self) -> None:
        """Fail when a request found the script exhausted."""
        unscripted = [record.number for record in self.log if not record.scripted]
        if self._strict and unscripted:
            raise AssertionError(f"script exhausted: no turn for request {unscripted}")

    def next_turn(self, model: str, body: dict[str, object]) -> Turn | None:
        """Take the first turn whose condition fits: the model's own queue, then the common one."""
        for name in (model, ANY_MODEL):
            queue = self._turns.get(name, deque())
            for turn in queue:
                if turn.when.matches(body):
                    queue.remove(turn)
                    return turn
        return self.default

    async def wait_gate(self, name: str) -> None:
        """Wait until ``release(name)``."""
        await self._gate(name).wait()

    async def wait_until(self, holds: Callable[[], object], seconds: float = 5.0) -> None:
        """Wait for a state of the log or of anything else; fails after ``seconds``."""
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"not reached within {seconds} s; log: {self.log}")
            await asyncio.sleep(0.005)

    async def start(self) -> None:
        """Begin to listen."""
        self._loop = asyncio.get_running_loop()
        await self.accept()

    async def accept(self) -> None:
        """Listen, for the first time or again after ``refuse``."""
        self._listener = await asyncio.start_server(
            self._dispatcher.serve, "127.0.0.1", self._port, limit=1 << 26
        )
        self._port = self._listener.sockets[0].getsockname()[1]

    async def refuse(self) -> None:
        """Close the listener and every connection: the next connect is refused."""
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        await self._dispatcher.drop()

    async def stop(self) -> None:
        """Stop listening and drop every connection."""
        await self.refuse()

    def _add_model(self, model: ModelSpec) -> None:
        self.models[model.name] = model

    def _gate(self, name: str) -> asyncio.Event:
        return self._gates.setdefault(name, asyncio.Event())


def free_port() -> int:
    """A port that nothing listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
