"""From the start of the process to the first key's echo, against a bare Textual app with one input."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.benchmarks.report import Row
from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer
from tests.support.terminal import Terminal

RUNS = 7
BUDGET = 1.5
_BARE = """
from textual.app import App
from textual.widgets import Input

class Bare(App):
    def compose(self):
        yield Input()

Bare().run()
"""


def measure() -> Iterator[Row]:
    """Runs of both programs in turn; medians are compared."""
    with tempfile.TemporaryDirectory() as folder, HostedServer() as server:
        machine = Machine.make(Path(folder), server.url)

        def bare() -> Terminal:
            program = (sys.executable, "-c", _BARE)
            return Terminal(env=machine.environment, cwd=machine.workspace, program=program)

        echo(machine.terminal)
        pairs = [(echo(bare), echo(machine.terminal)) for _ in range(RUNS)]
    plain, ours = (statistics.median(times) for times in zip(*pairs, strict=True))
    yield Row(
        "start to the first key's echo", ours / plain, BUDGET, "x", f"{ours:.2f} s against {plain:.2f} s"
    )


def echo(start: Callable[[], Terminal]) -> float:
    """Seconds from the start until a key, typed as soon as the screen opens, is shown."""
    begin = time.perf_counter()
    with start() as terminal:
        terminal.wait_for(lambda shown: shown.alternate)
        terminal.send("Ω")
        terminal.wait_for("Ω")
        return time.perf_counter() - begin
