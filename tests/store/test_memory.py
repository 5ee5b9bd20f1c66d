"""``--no-save``: the same store, and nothing anywhere once the process ends."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from local_agent.domain.drafts import Draft
from local_agent.store.store import Store
from tests.store.samples import ROOT, VERSION, failed, opening, talk


async def test_a_conversation_works_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.in_memory(program_version=VERSION)
    assert not store.durable
    held = await talk(store, "one", "two")
    turn = await held.begin(opening("three", held.info.head))
    await held.settle(turn, failed())

    tail, page, facts = await asyncio.gather(store.tail(held.info.handle, 9), store.page(ROOT), store.facts())
    assert [entry.text for entry in tail.entries] == ["one", "On one", "two", "On two", "three"]
    assert page == [held.info]
    assert facts["path"] is None
    assert held.info.head is not None
    assert await held.model_path(held.info.head) == list(tail.entries)
    await store.save_draft(ROOT, None, Draft("half"))
    await store.close()

    assert os.listdir(tmp_path) == []


async def test_two_conversations_in_memory_know_nothing_of_each_other() -> None:
    one, two = (Store.in_memory(program_version=VERSION) for _ in range(2))
    await talk(one, "one")

    assert await two.page(None) == []
    await one.close()
    await two.close()


async def test_on_disk_the_store_knows_where_it_is(store: Store, database: Path) -> None:
    assert store.durable
    assert store.notices == ()
    facts = await store.facts()
    assert facts["path"] == str(database)
    assert isinstance(facts["size"], int) and facts["size"] > 4096
    assert (facts["revision"], facts["journal"], facts["last_backup"]) == ("0005", "wal", None)
