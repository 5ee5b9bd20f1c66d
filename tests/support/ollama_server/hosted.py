"""The server on a thread of this process, or in a process of its own, for tests without an event loop."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from tests.support.ollama_server.script import Turn, turn_to_json
from tests.support.ollama_server.server import OllamaServer

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[3]


class HostedServer:
    """Runs an ``OllamaServer`` on a thread with a loop of its own; script and read ``server`` directly."""

    def __init__(self, server: OllamaServer | None = None) -> None:
        self.server = server or OllamaServer()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="scripted-ollama", daemon=True)

    def __enter__(self) -> OllamaServer:
        self._thread.start()
        self.run(self.server.start())
        return self.server

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self.run(self.server.stop())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()
        if kind is None:
            self.server.check()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something like ``server.refuse()`` on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)


def wait_until(holds: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait, without an event loop, until ``holds()`` is true."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise AssertionError(f"not reached within {seconds} s")
        time.sleep(0.005)


class RemoteServer:
    """Steers a server that runs as ``python -m tests.support.ollama_server``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def script(self, *turns: Turn | str, model: str = "") -> None:
        """Append turns."""
        values = [turn_to_json(turn if isinstance(turn, Turn) else Turn(turn)) for turn in turns]
        self.apply({"turns": values, "model": model})

    def apply(self, document: Mapping[str, object]) -> None:
        """Send a script document."""
        self._ask("POST", "/_ctl/script", document)

    def release(self, gate: str) -> None:
        """Open a gate."""
        self._ask("POST", "/_ctl/release", {"gate": gate})

    def reset(self) -> None:
        """Forget script, faults, gates, log and loaded models."""
        self._ask("POST", "/_ctl/reset", {})

    @property
    def log(self) -> list[dict[str, Any]]:
        """All requests so far, as ``RequestRecord.to_json`` gives them."""
        found: list[dict[str, Any]] = self._ask("GET", "/_ctl/log", None)
        return found

    @property
    def chats(self) -> list[dict[str, Any]]:
        """The chat requests so far."""
        return [record for record in self.log if record["path"] == "/api/chat"]

    def _ask(self, method: str, path: str, body: object) -> Any:
        connection = http.client.HTTPConnection(self.url.removeprefix("http://"), timeout=10)
        with contextlib.closing(connection):
            connection.request(method, path, None if body is None else json.dumps(body))
            reply = connection.getresponse()
            value = json.loads(reply.read())
        if reply.status != 200:
            raise AssertionError(f"{path}: {value}")
        return value


@contextlib.contextmanager
def server_process(*arguments: str) -> Iterator[RemoteServer]:
    """Run the server as a process; ``arguments`` as on its command line."""
    command = [sys.executable, "-m", "tests.support.ollama_server", "--port", "0", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield RemoteServer(process.stdout.readline().strip())
        finally:
            process.terminate()
            process.wait(10)
