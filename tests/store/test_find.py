"""The search of a path: all of it, newest first, part by part, past what is damaged."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.finding import Found, Sought
from local_agent.store.find import PART_BYTES, PART_ENTRIES
from local_agent.store.store import Store
from tests.store.samples import VERSION, fill, talk
from tests.store.test_paths import damaged_session


async def found(store: Store, session_id: int, words: str) -> tuple[list[Found], int]:
    """Everything that is found, and in how many parts."""
    leaf, everything, parts = await store.head(session_id), [], 0
    while leaf is not None:
        part = await store.look_through(leaf, Sought.of(words))
        everything += part.found
        assert part.rest is None or part.rest < leaf
        leaf, parts = part.rest, parts + 1
    return everything, parts


async def test_all_of_a_long_path_is_found_newest_first(store: Store, database: Path) -> None:
    held = await talk(store, "Fox one?")
    other = await talk(store, "A fox elsewhere?")
    fill(database, held.info.id, 1300, says=lambda place: f"fox {place}" if place % 100 == 7 else "nothing")
    everything, parts = await found(store, held.info.id, "fox")
    ids = [each.entry_id for each in everything]
    assert ids == sorted(ids, reverse=True) and len(ids) == 13 + 2, "the answer repeats the question"
    assert parts == 1 + 1302 // PART_ENTRIES
    assert ids[-2:] == (await store.path_ids(ids[0]))[:2][::-1]
    assert len((await found(store, other.info.id, "fox"))[0]) == 2


async def test_a_part_ends_after_so_many_bytes_and_nothing_is_passed_over(
    store: Store, database: Path
) -> None:
    held = await talk(store, "fox")
    size = PART_BYTES // 4
    fill(database, held.info.id, 11, says=lambda place: f"fox {place} " + "x" * size)
    everything, parts = await found(store, held.info.id, "fox")
    assert len(everything) == 13 and all(each.times == 1 for each in everything)
    assert parts >= 3


async def test_a_damaged_page_hides_its_own_text_alone(database: Path) -> None:
    held, questions = await damaged_session(database)
    store = Store.open(database, program_version=VERSION)
    try:
        everything, _ = await found(store, held.info.id, "question")
        assert 2 * len(questions) - 2 <= len(everything) < 2 * len(questions)
    finally:
        await store.close()


async def test_a_fork_is_looked_through_with_what_it_stands_on(store: Store) -> None:
    parent = await talk(store, "fox one", "fox two")
    fork = await store.fork(parent.info.handle)
    assert len((await found(store, fork.id, "fox"))[0]) == 4
    assert await store.head(fork.id) == parent.info.head and await store.head(999) is None
