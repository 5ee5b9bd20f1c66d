"""A turn is on disk before its request goes out, and its end is one transaction."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy.exc import IntegrityError

from local_agent.domain.entries import (
    EntryStatus,
    ErrorRecord,
    Kind,
    Origin,
    ToolCall,
    TurnStatus,
    Usage,
)
from local_agent.domain.ports import Outcome, Reply
from local_agent.store.error_trail import LIMIT
from local_agent.store.gateway import Gateway
from local_agent.store.store import Store
from tests.store.samples import VERSION, failed, new_session, opening, reply_half, settled, talk

LOSSLESS = "a\0b \ud800 \udfff \U0001f332 e\u0301 \x1b[31m [b] \u202e\r\n\x85 ende"


async def test_a_first_question_brings_session_lease_and_turn(store: Store) -> None:
    held, turn = await store.create(new_session("Trees"), opening())

    assert turn.handle == held.info.handle
    assert turn.question.text == "What is a tree?"
    assert (held.info.title, held.info.head, held.info.turn_count) == ("Trees", turn.question.id, 1)
    assert held.info.holder is not None
    assert await store.find(held.info.handle) == held.info


async def test_a_settled_reply_follows_its_question(store: Store) -> None:
    held, turn = await store.create(new_session(), opening())
    await reply_half(held, turn)
    assert await store.open_reply(held.info.id) == Reply("A plant wi", "Trees, then.")

    usage = Usage(12, 5, 0.5, 0.25, 1.5, 0.75)
    reply = Reply("A plant.", "Trees, then.", (ToolCall("c1", "look", {"at": ["\ud83d", 1, None]}),))
    outcome = Outcome(TurnStatus.SETTLED, EntryStatus.SETTLED, "stop", reply, usage)
    entry = await held.settle(turn, outcome)

    assert entry is not None
    assert entry.parent == turn.question.id
    assert await store.open_reply(held.info.id) is None
    tail = await store.tail(held.info.handle, 10)
    assert tail.entries == (turn.question, entry)
    assert tail.entries[1].calls == reply.calls
    assert tail.turns[turn.id].usage == usage
    assert tail.turns[turn.id].status is TurnStatus.SETTLED
    assert held.info.head == entry.id
    assert await store.find(held.info.handle) == held.info


@pytest.mark.parametrize("durable", [True, False])
async def test_text_comes_back_as_it_went_in(tmp_path: Path, durable: bool) -> None:
    def opened() -> Store:
        if durable:
            return Store.open(tmp_path / "a.db", program_version=VERSION)
        return Store.in_memory(program_version=VERSION)

    store = opened()
    asked = replace(opening(LOSSLESS), context=LOSSLESS, system_prompt=LOSSLESS, model=LOSSLESS)
    held, turn = await store.create(new_session(LOSSLESS, root=LOSSLESS), asked)
    await held.keep(turn, Reply(LOSSLESS, LOSSLESS))
    assert await store.open_reply(held.info.id) == Reply(LOSSLESS, LOSSLESS)
    record = ErrorRecord("generation", LOSSLESS, LOSSLESS, LOSSLESS, LOSSLESS, "ollama")
    outcome = Outcome(TurnStatus.FAILED, EntryStatus.FAILED, None, Reply(LOSSLESS, LOSSLESS), Usage(), record)
    await held.settle(turn, outcome)
    handle = held.info.handle
    if durable:
        await store.close()
        store = opened()

    info = await store.find(handle)
    assert (info.title, info.workspace_root) == (LOSSLESS, LOSSLESS)
    tail = await store.tail(handle, 2)
    assert [entry.text for entry in tail.entries] == [LOSSLESS, LOSSLESS]
    assert tail.entries[0].context == tail.entries[1].thinking == LOSSLESS
    assert tail.turns[turn.id].model == LOSSLESS
    assert tail.errors[turn.id].raw == LOSSLESS
    assert await store.questions(LOSSLESS, None, 5) == [LOSSLESS]
    await store.close()


async def test_a_failed_turn_leaves_its_question_and_a_record(store: Store) -> None:
    held, turn = await store.create(new_session(), opening())

    assert await held.settle(turn, failed()) is None

    tail = await store.tail(held.info.id, 5)
    assert tail.entries == (turn.question,)
    assert tail.turns[turn.id].status is TurnStatus.FAILED
    assert tail.errors[turn.id].line == "The server is gone."
    assert held.info.error_count == 1
    again = await held.begin(opening("Again?", held.info.head))
    assert again.question.parent == turn.question.id


async def test_settling_twice_changes_nothing(store: Store) -> None:
    held, turn = await store.create(new_session(), opening())
    first = await held.settle(turn, settled("Once."))

    assert await held.settle(turn, settled("Twice.")) == first
    assert [entry.text for entry in (await store.tail(held.info.id, 9)).entries[1:]] == ["Once."]


async def test_a_turn_that_was_never_settled_is_settled_by_the_next(store: Store) -> None:
    held, lost = await store.create(new_session(), opening())
    await reply_half(held, lost)

    await held.begin(opening("And now?", lost.question.id))

    assert await store.open_reply(held.info.id) is None
    turns = (await store.tail(held.info.id, 9)).turns
    assert turns[lost.id].status is TurnStatus.INTERRUPTED
    assert held.info.turn_count == 2
    assert await store.find(held.info.handle) == held.info


async def test_a_retry_is_another_branch_and_the_first_answer_stays(store: Store, database: Path) -> None:
    held = await talk(store, "one", "two")
    before = await store.tail(held.info.id, 9)
    again = await held.begin(opening("two", before.entries[2].parent))
    await held.settle(again, settled("Another answer."))

    assert [entry.text for entry in (await store.tail(held.info.id, 9)).entries] == [
        "one",
        "On one",
        "two",
        "Another answer.",
    ]
    kept = await store.model_path(before.entries[-1].id)
    assert [entry.text for entry in kept] == ["one", "On one", "two", "On two"]
    with closing(sqlite3.connect(database)) as db:
        moves = db.execute("SELECT number, from_entry, to_entry, cause, turn_id FROM head_moves").fetchall()
    assert [move[:3] for move in moves] == [
        (1, None, 1),
        (2, 1, 2),
        (3, 2, 3),
        (4, 3, 4),
        (5, 4, 5),
        (6, 5, 6),
    ]
    assert {move[3] for move in moves} == {"turn"}
    assert [move[4] for move in moves] == [1, 1, 2, 2, 3, 3]


async def test_the_trail_of_errors_is_bounded(store: Store, database: Path) -> None:
    held, turn = await store.create(new_session(), opening())
    other = await talk(store, "elsewhere")
    await other.settle(await other.begin(opening("x", other.info.head)), failed("Of another session."))
    with closing(sqlite3.connect(database)) as db:
        db.executemany(
            "INSERT INTO error_records (session_id, kind, line, raw, question, model, provider, created_at)"
            " VALUES (?, 'generation', ?, '', '', '', '', '')",
            [(held.info.id, f"Failure {number}.") for number in range(LIMIT - 2)],
        )
        db.commit()
    for number in range(LIMIT - 2, LIMIT + 5):
        await held.settle(turn, failed(f"Failure {number}."))
        turn = await held.begin(opening("Again?", held.info.head))

    lines = [record.line for record in await store.errors(held.info.id)]
    assert lines == [f"Failure {number}." for number in range(5, LIMIT + 5)]
    assert [record.line for record in await store.errors(other.info.id)] == ["Of another session."]


async def test_a_prompt_is_stored_once(store: Store, database: Path) -> None:
    held = await talk(store, "one", "two", "three")
    await held.begin(replace(opening("four", held.info.head), system_prompt="Another prompt."))

    with closing(sqlite3.connect(database)) as db:
        texts = [text for (text,) in db.execute("SELECT text FROM prompt_texts ORDER BY text")]
        used = db.execute("SELECT count(DISTINCT prompt_digest), count(*) FROM turns").fetchone()
    assert texts == ["Another prompt.", "Answer in one line."]
    assert used == (2, 4)


async def test_questions_are_recalled_this_sessions_first(store: Store) -> None:
    await talk(store, "other 1", "other 2")
    held = await talk(store, "mine 1", "mine 2")
    await held.begin(replace(opening("written by the program", held.info.head), origin=Origin.PROGRAM))
    await talk(store, "newest", "other 1")
    await talk(store, "of another folder", root="/projects/else")
    gone = await talk(store, "thrown away")
    await store.trash(gone.info.handle)

    root = held.info.workspace_root
    assert await store.questions(root, held.info.id, 9) == [
        "mine 2",
        "mine 1",
        "other 1",
        "newest",
        "other 2",
    ]
    assert await store.questions(root, None, 3) == ["other 1", "newest", "mine 2"]
    assert await store.questions("/nowhere", None, 9) == []


async def test_a_model_and_a_title_are_kept(store: Store) -> None:
    held = await talk(store, "one")
    await held.set_model("big:70b", pinned=True)
    await held.rename("Of trees")

    info = await store.find(held.info.handle)
    assert info == held.info
    assert (info.model, info.model_pinned, info.title, info.title_source) == (
        "big:70b",
        True,
        "Of trees",
        "person",
    )


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE entries SET text = 'changed'",
        "DELETE FROM entries",
        "INSERT OR REPLACE INTO entries SELECT * FROM entries WHERE id = 2",
        "REPLACE INTO entries SELECT * FROM entries WHERE id = 1",
        "UPDATE head_moves SET to_entry = NULL",
        "DELETE FROM head_moves",
        "INSERT OR REPLACE INTO head_moves SELECT * FROM head_moves",
    ],
)
async def test_history_refuses_to_be_rewritten(store: Store, database: Path, statement: str) -> None:
    held = await talk(store, "one", "two")
    before = await store.tail(held.info.id, 9)

    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA recursive_triggers = ON")
        with pytest.raises(sqlite3.IntegrityError, match="never"):
            db.execute(statement)

    assert await store.tail(held.info.id, 9) == before


async def test_every_connection_of_the_store_lets_the_triggers_see_a_replace(
    store: Store, gateway: Gateway
) -> None:
    await talk(store, "one")
    replace_all = "INSERT OR REPLACE INTO entries SELECT * FROM entries"

    with pytest.raises(IntegrityError, match="an entry is never deleted"):
        await gateway.write(lambda db: db.connection().exec_driver_sql(replace_all), "turn.settle")


async def test_kinds_of_entries_are_what_was_said(store: Store) -> None:
    held = await talk(store, "one")
    question, answer = (await store.tail(held.info.id, 2)).entries
    assert (question.kind, question.origin) == (Kind.QUESTION, Origin.PERSON)
    assert (answer.kind, answer.origin) == (Kind.ASSISTANT, Origin.MODEL)
