"""How much streamed text a killed process loses, from the moment at which the server sent it."""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from tests.benchmarks.report import Row
from tests.proofs.kill_runs import LOST_AT_MOST, Books, Life
from tests.support.machine import Machine
from tests.support.ollama_server import HostedServer, streamed
from tests.support.terminal import until

KILLS = 8
PER_SECOND = 80
WORDS = 120
EARLIEST, LATEST = 0.4, 1.2
"""Seconds from the first word to the kill: in mid-reply, with some of it saved."""


def measure() -> Iterator[Row]:
    """The worst of a few kills; ends with an error when one takes a settled entry with it."""
    chance = random.Random(1)
    with tempfile.TemporaryDirectory() as folder, HostedServer() as server:
        server.default = streamed(" ".join(f"word{number}" for number in range(WORDS)), per_second=PER_SECOND)
        books = Books(Machine.make(Path(folder), server.url), server, lost_at_most=math.inf)
        for _ in range(KILLS):
            life = Life(books.machine, "talk", *([books.handle] if books.handle else []))
            until(lambda: any(chat.sent for chat in server.chats), what="the first word")
            books.after(life.told, life.kill_after(chance.uniform(EARLIEST, LATEST)))
    assert books.worst, "no kill hit a reply on its way"
    yield Row("streamed text lost by SIGKILL", books.worst * 1e3, LOST_AT_MOST * 1e3, "ms", books.summary)
