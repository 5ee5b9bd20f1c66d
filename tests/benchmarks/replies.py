"""What a settled reply costs: eighty mounted, and a very long one typeset, against less of the same."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from local_agent.tui.look.themes import DARK, register_themes
from local_agent.tui.markdown.parser import parser
from local_agent.tui.markdown.typeset import Typesetter
from local_agent.tui.widgets.reply import Reply
from tests.benchmarks.report import Row

REPLIES = 80
LINES = 2_000
WIDTH = 80
RUNS = 5
MOUNTED, TYPESET = 3.0, 5.0
"""Times the cost of as many labels, and of the parser alone."""


def measure() -> Iterator[Row]:
    """Processor time; the best of several runs, taken in turn with what it is compared with."""
    rich, plain = asyncio.run(_mounted())
    detail = f"{rich * 1e3:.0f} against {plain * 1e3:.0f} ms for labels of the same text"
    yield Row(
        f"{REPLIES} settled replies of ten lines, mounted and drawn", rich / plain, MOUNTED, "x", detail
    )
    source = _document(LINES)
    drawn = _best(lambda: Typesetter(WIDTH).typeset(source))
    parsed = _best(lambda: parser.parse(source))
    detail = f"{drawn * 1e3:.0f} ms, of which {parsed * 1e3:.0f} are the parser's"
    yield Row("a reply of 2,000 lines, typeset, against parsed", drawn / parsed, TYPESET, "x", detail)


class _Stage(App[None]):
    def __init__(self, widgets: Sequence[Widget]) -> None:
        super().__init__()
        themed: App[Any] = self
        register_themes(themed)
        self.theme = DARK
        self._shown = widgets

    def compose(self) -> ComposeResult:
        with VerticalScroll():
            yield from self._shown


async def _mounted() -> tuple[float, float]:
    replies, labels = [], []
    for _ in range(RUNS):
        begin = time.process_time()
        made: list[Widget] = [await Reply.prepared(_ten_lines(number), WIDTH) for number in range(REPLIES)]
        replies.append(time.process_time() - begin + await _painted(made))
        begin = time.process_time()
        made = [Static(Content(_ten_lines(number)), markup=False) for number in range(REPLIES)]
        labels.append(time.process_time() - begin + await _painted(made))
    return min(replies), min(labels)


async def _painted(widgets: Sequence[Widget]) -> float:
    begin = time.process_time()
    app = _Stage(widgets)
    async with app.run_test(size=(WIDTH + 10, 40)) as pilot:
        await pilot.pause()
        assert all(widget.size.height for widget in widgets)
        return time.process_time() - begin


def _ten_lines(number: int) -> str:
    words = f"Answer **{number}** has `code`, *stress* and [a link](https://example.com/{number})."
    points = f"- first point of {number}\n- second point"
    code = f"```python\ndef f{number}(x):\n    return x + {number}\n```"
    return f"{words}\n\n{points}\n\n{code}\n"


def _document(lines: int) -> str:
    part = "".join(_ten_lines(number) + "\n" for number in range(lines // 9 + 1))
    return "\n".join(part.split("\n")[:lines])


def _best(work: Callable[[], object]) -> float:
    def once() -> float:
        begin = time.process_time()
        work()
        return time.process_time() - begin

    return min(once() for _ in range(RUNS))
