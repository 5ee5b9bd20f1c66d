"""What a fast reply costs while keys are typed: the longest work of the loop, and each token's share."""

from __future__ import annotations

import asyncio
import os
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import cycle
from pathlib import Path

from textual.events import Key

from local_agent.config.launch import LaunchOptions
from local_agent.config.paths import Paths
from local_agent.config.settings import OllamaSettings, Settings
from local_agent.tui.app import LocalAgentApp
from local_agent.tui.widgets.reply import Reply
from local_agent.tui.widgets.thinking import Thinking
from tests.benchmarks.loop_watch import LoopWatch
from tests.benchmarks.report import Row
from tests.support.ollama_server import Turn, say, server_process, think

PER_SECOND = 1000
SECONDS = int(os.environ.get("STREAMING_SECONDS", "12"))
BUDGET = 0.1
FLAT = 1.25
"""What noise may make of a cost that stays the same."""
KEY_EVERY = 0.2
LIMIT = 240
END = "that was all"


def prose(words: int) -> str:
    """Numbered sentences: a reply that repeats itself is stopped."""
    return "\n\n".join(
        "".join(_sentence(number) for number in range(start, start + 5)) for start in range(0, words // 18, 5)
    )


def _sentence(number: int) -> str:
    return (
        f"Restore {number} is atomic and **fast**: folder {number} is written anew, then renamed at the end. "
    )


def one_paragraph(words: int) -> str:
    return "".join(map(_sentence, range(words // 18)))


def one_list(words: int) -> str:
    return "\n".join(
        f"- point {number}: one of *many* in a list that never ends" for number in range(words // 13)
    )


def one_fence(words: int) -> str:
    lines = "\n".join(f"    total += weigh(items[{number}], scale=2.0)" for number in range(words // 4))
    return f"```python\ndef weigh_all(items):\n{lines}\n    return total\n```"


def one_long_line(words: int) -> str:
    return f"```json\n[{' '.join(f'{number},' for number in range(words))} 0]\n```"


def one_table(words: int) -> str:
    rows = "\n".join(f"| {count} | row *{count}* of many | {count * 7} kB |" for count in range(words // 11))
    return f"| number | what | size |\n|---:|---|---:|\n{rows}"


KINDS: dict[str, Callable[[int], str]] = {
    "prose": prose,
    "one list": one_list,
    "one fence": one_fence,
    "one table": one_table,
    "one paragraph": one_paragraph,
    "one line of code": one_long_line,
}


def measure() -> Iterator[Row]:
    """One reply of each kind, then thinking, at a thousand words a second, in the program under a pilot."""
    words = PER_SECOND * SECONDS
    for name, text in KINDS.items():
        said = f"{text(words)}\n\n{END}"
        yield from _rows(name, Turn(say(said, pause=1 / PER_SECOND)), len(said))
    thought = prose(words)
    yield from _rows("thinking", Turn(think(thought, pause=1 / PER_SECOND), say(END)), len(thought))


def _rows(name: str, turn: Turn, size: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder, server_process() as server:
        server.script(turn)
        seen = asyncio.run(_stream(Path(folder), server.url, unfold=name == "thinking"))
    watch, seconds = seen.watch, seen.seconds
    longest = watch.longest()
    silent = max(watch.turns, key=lambda turn: turn.silent)
    gap = f"longest silence {silent.silent * 1e3:.0f} ms, {silent.delayed * 1e3:.0f} ms of it no processor"
    yield Row("streaming: the loop busy at a stretch", longest.busy * 1e3, BUDGET * 1e3, "ms", gap, case=name)
    echo = max(seen.echoes, key=lambda echo: echo.busy)
    slowest = max(echo.seconds for echo in seen.echoes)
    found = f"{len(seen.echoes)} keys, slowest after {slowest * 1e3:.0f} ms"
    yield Row("streaming: work before a key's echo", echo.busy * 1e3, BUDGET * 1e3, "ms", found, case=name)
    per_second = sum(turn.spent for turn in watch.turns) / seconds
    cost = f"{per_second * 100:.0f} % of a processor, {size / 1e3:.0f} kB in {seconds:.0f} s"
    growth = watch.growth(size * 95 // 100)
    yield Row("streaming: a token's work, last third against first", growth, FLAT, "x", cost, case=name)


@dataclass(frozen=True, slots=True)
class Echo:
    """From a key to its being drawn: seconds, and processor time of the loop's thread in between."""

    seconds: float
    busy: float


@dataclass(frozen=True, slots=True)
class Seen:
    """What one reply showed."""

    watch: LoopWatch
    echoes: list[Echo]
    seconds: float


async def _stream(folder: Path, url: str, *, unfold: bool) -> Seen:
    settings = Settings(ollama=replace(OllamaSettings(), host=url))
    paths = Paths(home=folder / "home", cache=folder / "cache")
    app = LocalAgentApp(LaunchOptions(folder), settings, paths)
    watch = LoopWatch(lambda: _drawn(app))
    echoes: list[Echo] = []
    async with app.run_test(size=(100, 30)) as pilot:
        await pilot.press(*"go", "enter")
        await _until(lambda: _drawn(app) > 0)
        for thinking in app.chat.query(Thinking) if unfold else ():
            thinking.opened = True
        begin = time.monotonic()
        watching = [asyncio.create_task(watch.run()), asyncio.create_task(_type(app, echoes))]
        await _until(lambda: not app.chat.busy)
        seconds = time.monotonic() - begin
        for task in watching:
            await _cancelled(task)
        assert app.chat.query(Reply).last().source.endswith(END), "the reply was cut short"
        await pilot.press("ctrl+q")
    return Seen(watch, echoes, seconds)


async def _type(app: LocalAgentApp, echoes: list[Echo]) -> None:
    """Type a letter and take it away again, one key after another."""
    for key, character in cycle((("x", "x"), ("backspace", None))):
        echoes.append(await _echo(app, Key(key, character)))
        await asyncio.sleep(KEY_EVERY)


async def _echo(app: LocalAgentApp, key: Key) -> Echo:
    composer, begin, busy = app.chat.composer, time.perf_counter(), time.thread_time()
    before = composer.text
    app.post_message(key)
    await _until(lambda: composer.text != before, every=0.001)
    drawn = asyncio.Event()
    composer.call_after_refresh(drawn.set)
    await drawn.wait()
    return Echo(time.perf_counter() - begin, time.thread_time() - busy)


def _drawn(app: LocalAgentApp) -> int:
    return sum(len(each.source) for each in (*app.chat.query(Reply), *app.chat.query(Thinking)))


async def _until(holds: Callable[[], bool], every: float = 0.02) -> None:
    deadline = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < deadline, "the reply did not come to its end"
        await asyncio.sleep(every)


async def _cancelled(task: Awaitable[None] | asyncio.Task[None]) -> None:
    assert isinstance(task, asyncio.Task)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
