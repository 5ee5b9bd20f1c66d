"""A GGUF file as a backend: the engine works in one thread, its parts come out on the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from local_agent.domain.errors import ModelError, ModelErrorKind
from local_agent.domain.events import Phase
from local_agent.domain.models import ModelInfo, PullProgress, ServerState
from local_agent.domain.ports import ChatRequest, ProgressPart, StreamPart, TextPart, ThinkingPart
from local_agent.llm import gguf
from local_agent.llm.completion import Completion, request_body
from local_agent.llm.crash import engine_marker
from local_agent.llm.engine import Engine, library_version, read_ahead


class EmbeddedBackend:
    """Loads lazily and runs one reply at a time.

    A batch of the engine can't be interrupted. Closing a stream therefore only asks the engine to
    stop, which it does within one batch; the next stream waits for that and says so.
    """

    kind = "embedded"

    def __init__(self, path: Path, *, threads: int | None = None, crash_marker: Path | None = None) -> None:
        """``crash_marker`` is where ``engine_crash_report`` will look at the next start."""
        self._path = path
        self._threads = threads
        self._crash_marker = crash_marker
        # One thread, so that a reply waits for the one before it and no model is freed under one.
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self._engine: Engine | None = None
        self._asked_window = 0
        self._running: set[_Generation] = set()
        self._closed = False

    @property
    def address(self) -> str:
        """Path of the GGUF file."""
        return str(self._path)

    @property
    def model(self) -> str:
        """Name of the one model here: that of its file."""
        return self._path.stem

    async def stream(self, request: ChatRequest) -> AsyncGenerator[StreamPart, None]:
        """Stream one reply; see ``Backend.stream``."""
        self._check(request.model)
        if any(message.pictures for message in request.messages):
            raise ModelError(
                ModelErrorKind.ENGINE,
                "The embedded engine can't be shown pictures.",
                "Ask a model with vision, on an Ollama server.",
            )
        if any(generation.stopping for generation in self._running):
            yield ProgressPart(Phase.STOPPING)
        generation = _Generation(asyncio.get_running_loop())
        self._running.add(generation)
        future = self._thread.submit(self._run, request, generation)
        future.add_done_callback(partial(self._ended, generation))
        try:
            while (part := await generation.next_part()) is not None:
                yield part
        finally:
            generation.stop()

    async def state(self) -> ServerState:
        """Look at the file and for the library; never raises."""
        try:
            info = await self.describe(self.model)
            library = await asyncio.to_thread(library_version)
        except ModelError as error:
            return ServerState(self.address, reachable=False, problem=error.line)
        return ServerState(self.address, reachable=True, version=library, models=(info,))

    async def describe(self, model: str) -> ModelInfo:
        """What the file's header says; loads nothing."""
        self._check(model)
        info = await asyncio.to_thread(gguf.describe, self._path)
        engine = self._engine
        return info if engine is None else replace(info, loaded=True, loaded_window=engine.window)

    async def loaded(self, model: str) -> bool:
        """Whether the model is in memory."""
        return model == self.model and self._engine is not None

    async def pull(self, model: str) -> AsyncGenerator[PullProgress, None]:
        """Refuse: this engine has the one file it was given."""
        raise ModelError(
            ModelErrorKind.ENGINE,
            "The embedded engine runs one file and fetches no models.",
            "Models are pulled by an Ollama server: start it with: ollama serve",
        )
        yield  # an async generator by its signature

    async def unload(self, model: str) -> None:
        """Free the model's memory, once no reply is being written with it."""
        self._check(model)
        await asyncio.wrap_future(self._thread.submit(self._unload))

    async def close(self) -> None:
        """Stop what runs, wait for it, and free the model."""
        if self._closed:
            return
        self._closed = True
        for generation in tuple(self._running):
            generation.stop()
        self._thread.submit(self._unload)
        await asyncio.to_thread(self._thread.shutdown, wait=True)

    def _check(self, model: str) -> None:
        if model != self.model:
            raise ModelError(
                ModelErrorKind.NO_MODEL,
                f"The embedded engine has {self.model}, not {model}.",
                "Choose a model with /model.",
            )

    def _run(self, request: ChatRequest, generation: _Generation) -> None:
        """One reply, in the engine's thread; what it raises reaches the stream."""
        load_seconds = None
        if self._engine is None or self._asked_window != request.window:
            started = time.monotonic()
            generation.put(ProgressPart(Phase.LOADING))
            self._load(request.window, generation)
            load_seconds = time.monotonic() - started
        if self._engine is not None and not generation.stopping:
            with engine_marker(self._crash_marker, self.model):
                generation.run(self._engine, request_body(request), load_seconds)

    def _load(self, window: int, generation: _Generation) -> None:
        """Have the model in memory with this window, unless the stop comes first."""
        trained = gguf.describe(self._path).trained_window
        read_ahead(self._path, lambda: generation.stopping)
        if generation.stopping:
            return
        self._unload()
        with engine_marker(self._crash_marker, self.model):
            # Beyond the trained window the engine would only allocate, up to being killed for it.
            self._engine = Engine(self._path, min(window, trained or window), self._threads)
        self._asked_window = window

    def _unload(self) -> None:
        self._engine = None

    def _ended(self, generation: _Generation, future: Future[None]) -> None:
        self._running.discard(generation)
        generation.end(future)


class _Generation:
    """One reply on its way from the engine's thread to the event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: asyncio.Queue[StreamPart | Future[None]] = asyncio.Queue()
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._first_token_seconds: float | None = None
        self._completion = Completion()
        self._failure: Exception | None = None

    @property
    def stopping(self) -> bool:
        """Whether nobody wants the rest of it."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Ask the engine to stop; doesn't wait."""
        self._stop.set()

    async def next_part(self) -> StreamPart | None:
        """The next part, or None at the end; raises what ended it."""
        item = await self._items.get()
        if isinstance(item, Future):
            item.result()
            return None
        return item

    def run(self, engine: Engine, body: dict[str, object], load_seconds: float | None) -> None:
        """Generate, in the engine's thread."""
        engine.chat(body, self._on_chunk)
        if self._failure is not None:
            raise self._failure
        if not self.stopping:
            self.put(self._completion.end(load_seconds, self._first_token_seconds))

    def put(self, item: StreamPart) -> None:
        """Hand a part over to the event loop."""
        self._hand_over(item)

    def end(self, future: Future[None]) -> None:
        """Hand over how it ended."""
        self._hand_over(future)

    def _hand_over(self, item: StreamPart | Future[None]) -> None:
        # A loop that is closed has nobody left to tell.
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError:
            self.stop()

    def _on_chunk(self, chunk: Any) -> bool:
        """Called by native code, which an exception would leave in an unknown state."""
        if self.stopping:
            return True
        try:
            parts = self._completion.parts(chunk)
        except (ModelError, LookupError, TypeError, AttributeError) as error:
            self._failure = error
            return True
        for part in parts:
            if self._first_token_seconds is None and isinstance(part, TextPart | ThinkingPart):
                self._first_token_seconds = time.monotonic() - self._started
            self.put(part)
        return self.stopping
