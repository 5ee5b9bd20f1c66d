"""Questions are searched newest first, a page at a time, each by its beginning."""

from __future__ import annotations

import pytest

from local_agent.domain.asked import AskedPage
from local_agent.domain.errors import StoreError
from local_agent.store.asked import HEAD_BYTES
from local_agent.store.store import Store
from tests.store.samples import ROOT, talk

HOSTILE = "\x00\ud800 \u202e\x1b[31m"


def texts(page: AskedPage) -> list[str]:
    return [question.text for question in page.questions]


async def test_pages_go_back_to_the_first_question(store: Store) -> None:
    asked = [f"question {number}" for number in range(25)]
    await talk(store, *asked, title="Many")
    await talk(store, "elsewhere", root="/projects/else", title="Else")
    seen: list[str] = []
    before: int | None = None
    while True:
        page = await store.asked(ROOT, before, 10)
        seen += texts(page)
        if page.rest is None:
            break
        before = page.rest
    assert seen == asked[::-1]
    everywhere = await store.asked(None, None, 2)
    assert texts(everywhere) == ["elsewhere", "question 24"]
    assert [(each.folder, each.title) for each in everywhere.questions] == [
        ("/projects/else", "Else"),
        (ROOT, "Many"),
    ]


async def test_the_beginning_is_cut_between_characters_and_the_whole_is_read(store: Store) -> None:
    long = "a" + "\U0001f333" * HEAD_BYTES
    held = await talk(store, long, HOSTILE, "   ")
    hostile, cut = await store.asked_in(held.info.id, 10)
    assert hostile.text == HOSTILE and hostile.whole
    assert long.startswith(cut.text) and len(cut.text.encode()) > HEAD_BYTES - 4 and not cut.whole
    assert await store.asked_whole(cut.entry_id) == long
    with pytest.raises(StoreError, match="not stored any more"):
        await store.asked_whole(10**9)


async def test_what_is_in_the_trash_is_not_found(store: Store) -> None:
    held = await talk(store, "secret", title="Gone")
    await talk(store, "open")
    await store.trash(held.info.handle)
    assert texts(await store.asked(ROOT, None, 10)) == ["open"]
    await store.untrash(held.info.handle)
    assert texts(await store.asked(ROOT, None, 10)) == ["open", "secret"]
