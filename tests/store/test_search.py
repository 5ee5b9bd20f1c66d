"""Exchanges are found by the words that they say, in any script, wherever they stand."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from local_agent.domain.entries import Kind
from local_agent.store.engine import open_engine
from local_agent.store.held import HeldSession
from local_agent.store.store import Store
from local_agent.store.word_index import rebuild
from tests.proofs.filled import NASTY
from tests.store.samples import ROOT, VERSION, new_session, opening, settled, talk


async def said(
    store: Store, question: str, answer: str, *, root: str = ROOT, title: str = "A"
) -> HeldSession:
    held, turn = await store.create(new_session(title, root=root), opening(question))
    await held.settle(turn, settled(answer))
    return held


async def found(store: Store, words: str, root: str | None = ROOT) -> list[str]:
    """The handles, best first; none of what says only some of the words."""
    page = await store.search(words, root)
    return [] if page.partly else [each.handle for each in page.passages]


@pytest.mark.parametrize(
    ("says", "words"),
    [
        ("昨日、東京タワーに行きました。", "東京"),
        ("昨日、東京タワーに行きました。", "タワーに行き"),
        ("我们的数据库端口是五千", "端口"),
        ("我们的数据库端口是五千", "库"),
        ("서울에서 만나요", "서울"),
        ("ฉันชอบกินข้าวผัด", "ข้าว"),
        ("Die Straßenbahnhaltestelle liegt am Donauufer.", "bahn"),
        ("Die Straßenbahnhaltestelle liegt am Donauufer.", "STRASSENBAHN"),
        ("Das Größenverhältnis stimmt.", "grossenverhaltnis"),
        ("Set max_retry_count to 3 in getUserName.", "retry"),
        ("Set max_retry_count to 3 in getUserName.", "max_retry_count"),
        ("Set max_retry_count to 3 in getUserName.", "username"),
        ("Set max_retry_count to 3 in getUserName.", "user name"),
        ("src/agent/turn.py and HTTPServer2", "turn.py"),
        ("src/agent/turn.py and HTTPServer2", "http"),
        ("It ended with a 🚀 launch", "🚀"),
        ("cafe\u0301 au lait", "CAFÉ"),
        ("ｈａｌｆ width", "half"),
        ('I said "no" and (maybe) not: a AND b OR c*', '"no" AND (maybe) NEAR'.replace(" NEAR", "")),
        ("x is what we solve for", "x"),
        ("½ of it", "½"),
        ("نريد قاعدة بيانات", "بيانات"),
        ("हिन्दी में लिखा", "हिन्दी"),
    ],
)
async def test_it_is_found_in_any_script(store: Store, says: str, words: str) -> None:
    held = await said(store, "What about it?", says)
    await said(store, "Something else?", "Nothing of the kind.")

    assert await found(store, words) == [held.info.handle]


@pytest.mark.parametrize(
    "words",
    [
        "",
        " ",
        '"',
        "'); DROP TABLE entries; --",
        "*",
        "AND",
        "NOT",
        "-",
        "(",
        "^q",
        NASTY,
        "_",
        "a" * 5000,
        "\ue000abc",
        "\x00",
    ],
)
async def test_anything_may_be_typed(store: Store, words: str) -> None:
    held = await said(store, "What is a tree?", "A plant.")

    page = await store.search(words, ROOT)
    assert page.passages == ()
    assert page.newest == ((held.info.handle, "A"),)


async def test_a_question_comes_with_the_answer_that_its_turn_ended_on(store: Store) -> None:
    held = await said(store, "Which port has the database?", "It listens on 5544.")

    (passage,) = (await store.search("database", ROOT)).passages
    assert (passage.question, passage.answer) == ("Which port has the database?", "It listens on 5544.")
    assert (passage.kind, passage.handle, passage.title) == (Kind.QUESTION, held.info.handle, "A")
    assert [passage.snippet.text[start:end] for start, end in passage.snippet.spans] == ["database"]
    (by_answer,) = (await store.search("5544", ROOT)).passages
    assert by_answer.question == passage.question
    assert by_answer.is_answer


async def test_short_words_beside_longer_ones_are_not_looked_for_and_that_is_said(store: Store) -> None:
    held = await said(store, "Why?", "Because the cache was cold.")

    page = await store.search("is it cold", ROOT)
    assert [each.handle for each in page.passages] == [held.info.handle]
    assert page.dropped == ("is", "it")


async def test_where_nothing_says_all_the_words_the_exchange_that_says_most_is_found(store: Store) -> None:
    await said(store, "Which colour?", "We choose the green one, which is nice.")
    held = await said(store, "Which port did we choose?", "The postgres one.")

    page = await store.search("which port do we choose for postgres", ROOT)
    assert page.partly
    assert page.passages[0].handle == held.info.handle


async def test_a_snippet_runs_from_the_first_word_to_the_last(store: Store) -> None:
    await said(store, "Tell me", f"At first {'so ' * 200}the alpha {'and ' * 10}the omega {'yes ' * 200}")

    (passage,) = (await store.search("omega alpha", ROOT)).passages
    assert passage.snippet.text.startswith("…")
    assert passage.snippet.text.endswith("…")
    assert [passage.snippet.text[start:end] for start, end in passage.snippet.spans] == ["alpha", "omega"]
    assert len(passage.snippet.text) < 400


async def test_words_that_stand_by_themselves_come_before_those_inside_others(store: Store) -> None:
    alone = await said(store, "One?", "The bahn is late.")
    inside = await said(store, "Two?", "The Straßenbahn is late.")

    assert await found(store, "bahn") == [alone.info.handle, inside.info.handle]


async def test_other_folders_are_found_only_when_all_are_asked(store: Store) -> None:
    there = await said(store, "Where?", "In the orchard.", root="/elsewhere")

    assert await found(store, "orchard") == []
    assert await found(store, "orchard", "/nowhere") == []
    assert await found(store, "orchard", None) == [there.info.handle]


async def test_what_lies_in_the_trash_is_not_found_until_it_is_back(store: Store) -> None:
    held = await said(store, "Where?", "In the orchard.")
    await held.release()
    await store.trash(held.info.handle)
    assert await found(store, "orchard") == []

    await store.untrash(held.info.handle)
    assert await found(store, "orchard") == [held.info.handle]


async def test_a_fork_of_what_lies_in_the_trash_still_says_it(store: Store) -> None:
    held = await talk(store, "the first orchard", "the second meadow")
    fork = await store.fork(held.info.handle, at=(await store.tail(held.info.id, 4)).entries[1].id)
    await held.release()
    await store.trash(held.info.handle)

    assert await found(store, "orchard") == [fork.handle]
    assert await found(store, "meadow") == []


async def test_only_what_was_said_is_found(store: Store) -> None:
    held, turn = await store.create(new_session("thetitle"), opening("thequestion"))
    await held.settle(turn, settled("theanswer"))
    assert held.info.head is not None
    await held.compact(held.info.head, "thesummary", held.info.head, context="thecontext")

    hits = {
        word: await found(store, word) != []
        for word in ("thequestion", "theanswer", "thesummary", "thecontext", "thetitle")
    }
    assert [word for word, hit in hits.items() if hit] == ["thequestion", "theanswer"]


async def test_entries_that_are_left_out_are_not_found(store: Store) -> None:
    held = await said(store, "Where?", "In the orchard.")
    ids = {entry.id for entry in (await store.tail(held.info.id, 9)).entries}

    assert (await store.search("orchard", ROOT, leave_out=ids)).passages == ()


async def test_a_text_of_a_megabyte_is_found_by_its_last_word(store: Store) -> None:
    held = await said(store, "Long?", "lorem ipsum " * 90_000 + "theend")

    assert await found(store, "theend") == [held.info.handle]


def index(database: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as db:
        db.execute("CREATE VIRTUAL TABLE temp.instances USING fts5vocab (main, entry_terms, instance)")
        return sorted(db.execute("SELECT term, doc FROM instances"))


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.lists(st.tuples(st.text(max_size=80), st.text(max_size=80)), min_size=1, max_size=4))
async def test_the_index_made_anew_is_the_index_as_it_grew(
    database: Path, exchanges: list[tuple[str, str]]
) -> None:
    store = Store.open(database, program_version=VERSION)
    for question, answer in exchanges:
        await said(store, question, answer)
    await store.close()
    before = index(database)
    with open_engine(database).connect().execution_options(writes=True) as connection:
        rebuild(connection)
        connection.commit()

    assert index(database) == before
    assert before or not any(each.isalnum() for pair in exchanges for part in pair for each in part)


@pytest.mark.parametrize("which", ["id = 10", "id > 10", "id <= 10"])
async def test_a_damaged_index_is_made_anew_and_nothing_said_is_lost(built: Path, which: str) -> None:
    store = Store.open(built, program_version=VERSION)
    held = await talk(store, "the first orchard", "the second meadow")
    with closing(sqlite3.connect(built)) as db:
        db.execute(f"UPDATE entry_terms_data SET block = x'00000000ffffffffffff' WHERE {which}")
        db.commit()
    await store.close()

    store = Store.open(built, program_version=VERSION)
    held = await store.hold(held.info.handle)
    turn = await held.begin(opening("the third thicket", held.info.head))
    await held.settle(turn, settled("It is green."))
    assert await found(store, "thicket") == [held.info.handle]
    assert await found(store, "orchard") == [held.info.handle]
    await store.close()


async def test_a_search_in_a_damaged_index_makes_it_anew(built: Path) -> None:
    store = Store.open(built, program_version=VERSION)
    held = await talk(store, "the first orchard")
    await store.close()
    with closing(sqlite3.connect(built)) as db:
        db.execute("UPDATE entry_terms_data SET block = x'00000000ffffffffffff' WHERE id >= 10")
        db.commit()

    store = Store.open(built, program_version=VERSION)
    assert await found(store, "orchard") == [held.info.handle]
    await store.close()
