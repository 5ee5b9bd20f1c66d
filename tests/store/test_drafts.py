"""Unsent work comes back to who may have it, and to nobody else."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.pictures import Picture
from local_agent.store.store import Store
from tests.store.other_process import OtherProcess
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk

PICTURE = Picture("ab" * 32, "cat.png", "image/png", 120, 3, 4)
QUEUED = Prompt("first \udc80"), Prompt("second", (PICTURE, replace(PICTURE, name="dog.jpg")))
LOSSLESS = Draft("half a\0 thought \ud800\n\x1b[31m", QUEUED, (PICTURE,))


def rows(database: Path, table: str) -> int:
    with closing(sqlite3.connect(database)) as db:
        (count,) = db.execute(f"SELECT count(*) FROM {table}").fetchone()
    assert isinstance(count, int)
    return count


async def test_a_draft_comes_back_as_it_was(store: Store) -> None:
    await store.save_draft(ROOT, None, Draft("first try"))
    await store.save_draft(ROOT, None, LOSSLESS)

    assert await store.take_draft(ROOT, None) == LOSSLESS
    assert await store.take_draft(ROOT, None) == LOSSLESS


async def test_an_empty_draft_removes_what_was_kept_and_writes_nothing(store: Store, database: Path) -> None:
    await store.save_draft(ROOT, None, Draft(" \n"))
    assert await store.take_draft(ROOT, None) is None
    assert rows(database, "workspaces") == 0

    await store.save_draft(ROOT, None, LOSSLESS)
    await store.save_draft(ROOT, None, Draft(""))
    assert await store.take_draft(ROOT, None) is None
    assert rows(database, "drafts") == 0


async def test_places_keep_their_drafts_apart(store: Store) -> None:
    held, other = await talk(store, "one"), await talk(store, "two")
    await store.save_draft(ROOT, held.info.id, Draft("of one"))
    await store.save_draft(ROOT, None, Draft("loose"))
    await store.save_draft("/projects/else", None, Draft("elsewhere"))

    assert await store.take_draft(ROOT, None) == Draft("loose")
    assert await store.take_draft(ROOT, held.info.id) == Draft("of one")
    assert await store.take_draft(ROOT, other.info.id) is None
    assert await store.take_draft("/projects/else", None) == Draft("elsewhere")
    assert await store.take_draft("/projects/unknown", None) is None


async def test_a_draft_of_a_living_process_is_left_to_it(store: Store, database: Path) -> None:
    with OtherProcess(database) as other:
        other.tell("draft", "typed over there")
        assert await store.take_draft(ROOT, None) is None
        await store.save_draft(ROOT, None, Draft("typed here"))
        assert other.tell("take_draft") == {"text": "typed over there"}
        other.die()

        assert await store.take_draft(ROOT, None) == Draft("typed here")
        await store.save_draft(ROOT, None, Draft(""))
        assert await store.take_draft(ROOT, None) == Draft("typed over there")

    with OtherProcess(database) as third:
        assert third.tell("take_draft") == {"text": None}


async def test_the_newest_of_the_dead_comes_first_and_none_is_lost(store: Store, database: Path) -> None:
    for text in ("older", "newer"):
        with OtherProcess(database) as other:
            other.tell("draft", text)
            other.die()

    assert await store.take_draft(ROOT, None) == Draft("newer")
    await store.save_draft(ROOT, None, Draft(""))
    assert await store.take_draft(ROOT, None) == Draft("older")


async def test_a_process_number_used_again_is_another_process(store: Store, database: Path) -> None:
    await store.save_draft(ROOT, None, Draft("of a process that is gone"))
    with closing(sqlite3.connect(database)) as db:
        db.execute("UPDATE drafts SET process_start = '1'")
        db.commit()

    assert await store.take_draft(ROOT, None) == Draft("of a process that is gone")


async def test_a_draft_of_another_machine_is_left_alone(store: Store, database: Path) -> None:
    await store.save_draft(ROOT, None, Draft("of another machine"))
    with closing(sqlite3.connect(database)) as db:
        db.execute("UPDATE drafts SET machine_id = 'elsewhere', pid = 1")
        db.commit()

    assert await store.take_draft(ROOT, None) is None


async def test_a_draft_outlives_the_boot_of_its_process(store: Store, database: Path) -> None:
    await store.save_draft(ROOT, None, Draft("before the restart"))
    with closing(sqlite3.connect(database)) as db:
        db.execute("UPDATE drafts SET boot_id = 'the boot before'")
        db.commit()
    await store.close()

    again = Store.open(database, program_version=VERSION)
    assert await again.take_draft(ROOT, None) == Draft("before the restart")
    await again.close()


async def test_a_question_is_stored_in_one_step_with_what_is_left_unsent(store: Store) -> None:
    await store.save_draft(ROOT, None, Draft("typed on", (Prompt("one"), Prompt("two"))))
    left = Draft("typed on", (Prompt("two"),))

    held, turn = await store.create(new_session(), replace(opening("one"), unsent=lambda: left))
    assert await store.take_draft(ROOT, None) is None
    assert await store.take_draft(ROOT, held.info.id) == left
    await held.settle(turn, settled())

    await held.begin(replace(opening("two", held.info.head), unsent=lambda: Draft("typed on")))
    assert await store.take_draft(ROOT, held.info.id) == Draft("typed on")


async def test_what_a_process_kept_without_a_session_becomes_the_sessions(store: Store) -> None:
    held = await talk(store, "one")
    await store.save_draft(ROOT, None, Draft("half"))
    await store.save_draft(ROOT, held.info.id, Draft("half a thought"))

    assert await store.take_draft(ROOT, None) is None
    assert await store.take_draft(ROOT, held.info.id) == Draft("half a thought")


async def test_a_draft_moves_in_one_step_and_leaves_what_is_another_processs(
    store: Store, database: Path
) -> None:
    first, second = await talk(store, "one"), await talk(store, "two")
    await store.save_draft(ROOT, first.info.id, Draft("half"))
    await store.save_draft(ROOT, second.info.id, Draft("half"), moved_from=first.info.id)
    assert await store.take_draft(ROOT, first.info.id) is None

    with OtherProcess(database) as other:
        await store.save_draft(ROOT, first.info.id, Draft("theirs by now"))
        other.tell("take_over", first.info.handle)
        await store.save_draft(ROOT, None, Draft("ours"), moved_from=first.info.id)
    assert await store.take_draft(ROOT, first.info.id) == Draft("theirs by now")
    assert await store.take_draft(ROOT, None) == Draft("ours")
