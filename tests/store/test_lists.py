"""Sessions are listed by what was written last, filtered, paged, renamed and put away."""

from __future__ import annotations

import random
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_agent.domain.errors import UnknownSession
from local_agent.store.sessions import subsequence
from local_agent.store.store import Store
from tests.store.samples import ROOT, new_session, opening, settled, talk


def titles(sessions: list) -> list[str]:  # type: ignore[type-arg]  # of SessionInfo
    return [session.title for session in sessions]


async def test_the_newest_is_what_was_written_last(store: Store) -> None:
    first = await talk(store, "a", title="First")
    await talk(store, "b", title="Second")
    await talk(store, "c", title="Elsewhere", root="/projects/else")
    assert titles(await store.page(ROOT)) == ["Second", "First"]
    assert (latest := await store.latest(ROOT)) is not None and latest.title == "Second"

    turn = await first.begin(opening("again", first.info.head))
    await first.settle(turn, settled())

    assert titles(await store.page(ROOT)) == ["First", "Second"]
    assert titles(await store.page(None)) == ["First", "Elsewhere", "Second"]
    assert (latest := await store.latest(ROOT)) is not None and latest == first.info
    assert await store.latest("/projects/unknown") is None
    assert await store.page("/projects/unknown") == []


async def test_renaming_is_no_activity(store: Store) -> None:
    first = await talk(store, "a", title="First")
    await talk(store, "b", title="Second")
    await store.rename(first.info.handle, "Renamed")

    assert titles(await store.page(ROOT)) == ["Second", "Renamed"]
    assert (await store.find(first.info.handle)).title_source == "person"


async def test_sessions_of_a_single_prompt_are_listed_but_never_the_latest(store: Store) -> None:
    await talk(store, "a", title="Chat")
    held, turn = await store.create(new_session("One shot", headless=True), opening())
    await held.settle(turn, settled())

    assert titles(await store.page(ROOT)) == ["One shot", "Chat"]
    assert (latest := await store.latest(ROOT)) is not None and latest.title == "Chat"


async def test_the_trash_hides_a_session_until_it_comes_back(store: Store) -> None:
    await talk(store, "a", title="First")
    second = await talk(store, "b", title="Second")
    before = await store.page(ROOT)
    await store.trash(second.info.handle)

    assert titles(await store.page(ROOT)) == titles(await store.page(None)) == ["First"]
    assert titles(await store.trashed(ROOT)) == titles(await store.trashed(None)) == ["Second"]
    assert await store.trashed("/projects/else") == []
    assert (latest := await store.latest(ROOT)) is not None and latest.title == "First"
    assert (await store.find(second.info.handle)).trashed
    assert (await store.tail(second.info.handle, 5)).entries

    await store.untrash(second.info.handle)
    assert await store.page(ROOT) == before
    for change in (store.trash, store.untrash):
        with pytest.raises(UnknownSession):
            await change("0000000" if second.info.handle != "0000000" else "1111111")


async def test_pages_follow_each_other_without_gap_or_double(store: Store) -> None:
    for number in range(7):
        await talk(store, "q", title=f"Session {number}")

    seen: list[str] = []
    before = None
    while page := await store.page(ROOT, limit=3, before=before):
        seen += titles(page)
        before = page[-1].place
    assert seen == [f"Session {number}" for number in reversed(range(7))]


async def test_a_filter_finds_letters_in_order(store: Store) -> None:
    held = await talk(store, "a", title="Polish Transcript UX [draft] 100%")
    await talk(store, "b", title="Größe ändern?")

    for text in ("polish", "PTUX", "tran pol", "[draft]", "100%", "ux  ]", held.info.handle, ""):
        found = titles(await store.page(ROOT, text_filter=text))
        assert "Polish Transcript UX [draft] 100%" in found, text
    assert titles(await store.page(ROOT, text_filter="GRÖ äN?")) == ["Größe ändern?"]
    for text in ("xyzzy", "hsilop", "*", "[a-z]", "_", "^", "\ud800"):
        assert titles(await store.page(ROOT, text_filter=text)) == [], text


@given(st.text(min_size=1, max_size=12), st.text(max_size=60))
def test_the_pattern_means_what_python_means_by_a_subsequence(word: str, title: str) -> None:
    word, title = (text.replace("\0", "").encode("utf-8", "ignore").decode() for text in (word, title))
    rest = iter(title)

    def same(one: str, other: str) -> bool:
        cased = one.lower() != one.upper() and len(one.lower() + one.upper()) == 2
        return other in ((one.lower(), one.upper()) if cased else (one,))

    expected = all(any(same(char, other) for other in rest) for char in word)
    with closing(sqlite3.connect(":memory:")) as db:
        (found,) = db.execute("SELECT ? GLOB ?", (title, subsequence(word))).fetchone()
    assert bool(found) is expected


async def test_ten_thousand_sessions_are_listed_and_filtered_in_no_time(store: Store, database: Path) -> None:
    await talk(store, "a", title="The first")
    words = ["tree", "river", "stone", "cloud", "paper", "window", "garden", "engine", "letter", "number"]
    chance = random.Random(7)
    rows = [
        (f"{number:07x}", " ".join(chance.choices(words, k=8)), 100 + number) for number in range(1, 10_001)
    ]
    columns = "workspace_id, head, mode, backend, host, model, model_pinned, headless, trashed, created_at"
    with closing(sqlite3.connect(database)) as db:
        db.executemany(
            f"INSERT INTO sessions (handle, title, last_entry, title_source, last_activity, turn_count,"
            f" {columns}) SELECT ?, ?, ?, 'task', '2026', 1, {columns} FROM sessions WHERE id = 1",
            rows,
        )
        db.commit()

    async def seconds(text: str) -> float:
        await store.page(ROOT, text_filter=text)
        started = time.perf_counter()
        await store.page(ROOT, text_filter=text)
        return time.perf_counter() - started

    assert len(await store.page(ROOT)) == 100
    assert titles(await store.page(ROOT, text_filter="the first")) == ["The first"]
    assert await store.page(ROOT, text_filter="zebra") == []
    # The budgets are 100 ms and 30 ms of work; ten times that fails only for another order of growth.
    assert await seconds("") < 1.0
    assert await seconds("zebra") < 0.3
