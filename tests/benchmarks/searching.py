"""How long an exchange is looked for among fifty thousand entries, and what indexing costs a commit."""

from __future__ import annotations

import asyncio
import random
import statistics
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from local_agent.domain.searching import search_terms
from local_agent.store.engine import open_engine
from local_agent.store.store import Store
from local_agent.store.word_index import rebuild
from tests.benchmarks.report import Row
from tests.store.samples import ROOT, VERSION, fill, talk

SESSIONS, ENTRIES = 50, 50_000
VOCABULARY, WORDS = 20_000, 60
BUDGET = 100.0
INDEXING = 5.0
PLANTED = "The Straßenbahnhaltestelle of 東京 has the number 55443."
QUERIES = {
    "a rare word": "55443",
    "a part of a word": "haltestelle",
    "two characters": "東京",
    "a common word": "common",
    "common words": "common also",
    "words that nothing says together": "common 55443 also missing",
    "nothing": "nowhere at all",
}


def measure() -> Iterator[Row]:
    """Each the worst of five, with the pages of the file in memory; the entries lie in 50 sessions."""
    took, size = asyncio.run(_look())
    for name, (seconds, count) in took.items():
        yield Row(f"search in {ENTRIES:,} entries", seconds * 1e3, BUDGET, "ms", f"{count} found", case=name)
    yield Row("index of words, part of the database", size * 100, 60.0, "%")
    text = _says(random.Random(1), 800)
    times = [_timed(text) for _ in range(9)]
    yield Row("terms of a text of 5 kB", statistics.median(times) * 1e3, INDEXING, "ms")


async def _look() -> tuple[dict[str, tuple[float, int]], float]:
    chance = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "home" / "local-agent.db"
        store = Store.open(path, program_version=VERSION)
        for number in range(SESSIONS):
            held = await talk(store, f"Question {number}", title=f"Session {number}")
            texts = [_says(chance, WORDS) for _ in range(ENTRIES // SESSIONS)]
            if number == SESSIONS // 2:
                texts[100] = PLANTED
            fill(path, held.info.id, len(texts), says=partial(_nth, texts))
            await held.release()
        with open_engine(path).connect().execution_options(writes=True) as connection:
            rebuild(connection)
            connection.commit()
            pages = "SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'entry_term%'"
            index = connection.exec_driver_sql(pages).scalar_one()
            whole = connection.exec_driver_sql("SELECT sum(pgsize) FROM dbstat").scalar_one()
        took = {}
        for name, words in QUERIES.items():
            times, count = [], 0
            for _ in range(6):
                begin = time.perf_counter()
                count = len((await store.search(words, ROOT)).passages)
                times.append(time.perf_counter() - begin)
            took[name] = max(times[1:]), count
        await store.close()
    assert all(took[name][1] for name in list(QUERIES)[:6])
    return took, index / whole


def _nth(texts: list[str], place: int) -> str:
    return texts[place - 1]


def _says(chance: random.Random, count: int) -> str:
    words = [_word(min(int(chance.paretovariate(0.6)), VOCABULARY)) for _ in range(count)]
    return " ".join([*words, "common", "also"] if chance.random() < 0.5 else words)


def _word(number: int) -> str:
    """The same word for the same number, a frequent one for a low one."""
    chance = random.Random(number)
    return "".join(chance.choice("bcdfghklmnprst") + chance.choice("aeiou") for _ in range(2 + number % 4))


def _timed(text: str) -> float:
    begin = time.perf_counter()
    search_terms(text)
    return time.perf_counter() - begin
