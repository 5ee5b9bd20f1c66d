"""Speeds of models: medians of the newest turns, at a cost that does not grow with their number."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from local_agent.domain.models import Speed
from local_agent.store.speeds import LOOKED_AT, TURNS
from local_agent.store.store import Store
from tests.store.samples import talk

Row = tuple[str, str, int | None, float | None, float | None, float | None]
"""Model, status, reply tokens, seconds of reply, first token and load."""


def add(path: Path, session_id: int, rows: Iterable[Row]) -> None:
    """Turns that follow those that are there."""
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO turns (session_id, model, status, reply_tokens, reply_seconds, first_token_seconds,"
            " load_seconds, model_digest, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, '', '')",
            ((session_id, *row) for row in rows),
        )


async def test_nothing_was_measured_yet(store: Store) -> None:
    assert await store.speeds() == {}


async def test_medians_of_the_newest_turns_that_settled(store: Store, built: Path) -> None:
    held = await talk(store, "Hi")
    old = [("qwen3:4b", "settled", 100, 100.0, 9.0, None)] * 50
    new = [("qwen3:4b", "settled", 100, 100 / speed, 0.5, 0.01) for speed in (*range(10, 29), 500)]
    add(built, held.info.id, [*old, *new])
    add(
        built,
        held.info.id,
        [("qwen3:4b", status, 100, 0.01, 9.0, 9.0) for status in ("failed", "interrupted")],
    )
    speeds = await store.speeds()
    assert speeds["tiny:1b"] == Speed(turns=1)
    measured = speeds["qwen3:4b"]
    assert (measured.turns, measured.tokens_per_second) == (TURNS, 19.5)
    assert (measured.first_token_seconds, measured.load_seconds) == (0.5, None)


async def test_a_load_is_counted_apart_from_the_first_word(store: Store, built: Path) -> None:
    held = await talk(store, "Hi")
    cold, warm = ("a", "settled", 50, 1.0, 6.5, 6.0), ("a:latest", "settled", 50, 1.0, 0.5, 0.02)
    add(built, held.info.id, [cold, cold, warm])
    assert (await store.speeds())["a:latest"] == Speed(3, 50.0, 0.5, 6.0)


async def test_what_was_not_measured_or_says_nothing_does_no_harm(store: Store, built: Path) -> None:
    held = await talk(store, "Hi")
    rows: list[Row] = [
        ("b", "settled", None, None, None, None),
        ("b", "settled", 100, 0.0, None, None),
        ("b", "settled", 2, 0.0001, None, None),
    ]
    add(built, held.info.id, rows)
    assert (await store.speeds())["b:latest"] == Speed(3)


async def test_a_hundred_thousand_turns_cost_what_two_thousand_do(store: Store, built: Path) -> None:
    held = await talk(store, "Hi")
    took = []
    for count in (LOOKED_AT, 100_000):
        add(
            built,
            held.info.id,
            [("c", "settled", 100, 1.0, 0.5, 0.0)] * 10 + [("d", "failed", *[None] * 4)] * count,
        )
        begun = time.perf_counter()
        await store.speeds()
        took.append(time.perf_counter() - begun)
    assert "c:latest" not in await store.speeds()
    assert took[1] < took[0] * 3 + 0.05
