"""The longest time the screen could not answer while a fast reply streams into it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import OllamaSettings, Settings
from local_agent.tui.app import LocalAgentApp
from tests.benchmarks.report import Row
from tests.support.ollama_server import RemoteServer, Turn, say, server_process

PER_SECOND = 1000
WORDS = 10_000
BUDGET = 0.1
LIMIT = 120
END = "that was all"


def prose() -> str:
    """Numbered sentences: a reply that repeats itself is stopped."""
    sentence = "Restore {0} is atomic and **fast**, as it writes folder {0} anew and renames it at the end. "
    sentences = [sentence.format(number) for number in range(WORDS // 18)]
    return "\n\n".join("".join(sentences[start : start + 5]) for start in range(0, len(sentences), 5))


def one_list() -> str:
    return "\n".join(
        f"- point {number}: one of *many* in a list that never ends" for number in range(WORDS // 13)
    )


def one_fence() -> str:
    lines = "\n".join(f"    total += weigh(items[{number}], scale=2.0)" for number in range(WORDS // 4))
    return f"```python\ndef weigh_all(items):\n{lines}\n    return total\n```"


def measure() -> Iterator[Row]:
    """One reply of each kind, at a thousand words a second, in the program under a pilot."""
    for name, text in (("prose", prose()), ("one list", one_list()), ("one fence", one_fence())):
        with tempfile.TemporaryDirectory() as folder, server_process() as server:
            gaps, seconds = asyncio.run(_gaps(Path(folder), server, text))
        longest, usual = max(gaps), sorted(gaps)[len(gaps) * 99 // 100]
        detail = f"99 % under {usual * 1e3:.0f} ms, {len(text.split())} words in {seconds:.0f} s"
        yield Row(f"longest silence of the screen, {name}", longest * 1e3, BUDGET * 1e3, "ms", detail)


async def _gaps(folder: Path, server: RemoteServer, text: str) -> tuple[list[float], float]:
    """Seconds by which a 5 ms timer of the program's loop came late in the reply, and how long that took."""
    server.script(Turn(say(f"{text}\n\n{END}", pause=1 / PER_SECOND)))
    settings = Settings(ollama=replace(OllamaSettings(), host=server.url))
    paths = Paths(home=folder / "home", cache=folder / "cache")
    app = LocalAgentApp(LaunchOptions(folder), settings, paths)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await _until(lambda: bool(server.chats))
        begin = time.monotonic()
        ended = asyncio.create_task(_until(lambda: _finished(server.chats[0])))
        gaps = []
        while not ended.done():
            before = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - before - 0.005)
        seconds = time.monotonic() - begin
        ended.result()
        await pilot.press("ctrl+q")
    return gaps, seconds


def _finished(request: Mapping[str, Any]) -> bool:
    assert request["disconnected"] is None, "the reply was cut short"
    return "".join(piece for _, piece in request["sent"]).endswith(END)


async def _until(holds: Callable[[], bool]) -> None:
    """Ask the server, from a thread, until a state holds."""
    deadline = time.monotonic() + LIMIT
    while not await asyncio.to_thread(holds):
        assert time.monotonic() < deadline, "the reply did not come to its end"
        await asyncio.sleep(0.5)
