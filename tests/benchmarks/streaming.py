"""The longest time the screen could not answer while a fast reply streams into it."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from local_agent.tui.app import ExitReport, LocalAgentApp
from textual.pilot import Pilot

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import OllamaSettings, Settings
from tests.benchmarks.report import Row
from tests.support.ollama_server import HostedServer, OllamaServer, Turn, done, say

PER_SECOND = 1000
WORDS = 10_000
BUDGET = 0.1
END = "that was all"


def prose() -> str:
    line = "Restores are atomic now and **fast**, as they write a new folder and rename it at the end. "
    return "\n\n".join(line * 5 for _ in range(WORDS // (17 * 5)))


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
        with tempfile.TemporaryDirectory() as folder, HostedServer() as server:
            gaps = asyncio.run(_gaps(Path(folder), server, text))
        longest, usual = max(gaps), sorted(gaps)[len(gaps) * 99 // 100]
        detail = f"99 % under {usual * 1e3:.0f} ms, {len(text.split())} words"
        yield Row(f"longest silence of the screen, {name}", longest * 1e3, BUDGET * 1e3, "ms", detail)


async def _gaps(folder: Path, server: OllamaServer, text: str) -> list[float]:
    """Seconds by which a 5 ms timer of the program's event loop came late, while the reply streams."""
    server.script(Turn(say(f"{text}\n\n{END}", chunking="lines:10", pause=10 / PER_SECOND), done()))
    settings = Settings(ollama=replace(OllamaSettings(), host=server.url))
    paths = Paths(home=folder / "home", cache=folder / "cache")
    app = LocalAgentApp(LaunchOptions(folder), settings, paths)
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await _wait(pilot, lambda: bool(server.chats))
        gaps = []
        while server.chats[0].last_byte is None or not server.chats[0].text_sent.endswith(END):
            begin = time.perf_counter()
            await asyncio.sleep(0.005)
            gaps.append(time.perf_counter() - begin - 0.005)
        app.exit()
    return gaps


async def _wait(pilot: Pilot[ExitReport | None], holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline, "the question was not sent"
        await pilot.pause(0.02)
