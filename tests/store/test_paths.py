"""A path is read from its end, at a cost that its length does not change, and around what is damaged."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import event

from local_agent.domain.entries import Entry, Kind, Origin, ToolCall
from local_agent.domain.requests import build_messages
from local_agent.store.engine import open_engine
from local_agent.store.entries import insert_entry
from local_agent.store.gateway import Gateway
from local_agent.store.held import HeldSession
from local_agent.store.revisions import newest_schema
from local_agent.store.store import Store
from tests.store.samples import VERSION, fill, new_session, opening, settled, talk

PAGE = 4096


async def add(
    gateway: Gateway, session_id: int, parent: int | None, kind: Kind, text: str, **more: object
) -> Entry:
    """A node that no turn of today's program writes."""
    origin = {Kind.RESULT: Origin.TOOL, Kind.ASSISTANT: Origin.MODEL}.get(kind, Origin.PROGRAM)
    entry = Entry(0, session_id, None, parent, kind, origin, text, **more)  # type: ignore[arg-type]  # any field
    return await gateway.write(lambda db: insert_entry(db, entry), "turn.settle")


def texts(entries: tuple[Entry, ...] | list[Entry]) -> list[str]:
    return [entry.text for entry in entries]


async def test_a_tail_is_the_end_of_the_path(store: Store) -> None:
    held = await talk(store, "one", "two", "three")

    tail = await store.tail(held.info.handle, 3)
    assert texts(tail.entries) == ["On two", "three", "On three"]
    assert tail.more
    older = await store.before(held.info.id, tail.entries[0].id, 2)
    assert texts(older.entries) == ["On one", "two"]
    assert older.more
    oldest = await store.before(held.info.id, older.entries[0].id, 5)
    assert texts(oldest.entries) == ["one"]
    assert not oldest.more
    assert not (await store.tail(held.info.id, 6)).more
    assert (await store.tail(held.info.id, 5)).more


async def test_results_stand_behind_their_call_and_do_not_count(store: Store, gateway: Gateway) -> None:
    held = await talk(store, "one")
    calls = (ToolCall("a", "read"), ToolCall("b", "grep"))
    question = held.info.head
    answer = await add(gateway, held.info.id, question, Kind.ASSISTANT, "let me see", calls=calls)
    final = await add(gateway, held.info.id, answer.id, Kind.ASSISTANT, "done")
    for number, text in ((1, "second"), (0, "first")):
        await add(gateway, held.info.id, answer.id, Kind.RESULT, text, call_number=number)

    path = await store.model_path(final.id)
    assert texts(path) == ["one", "On one", "let me see", "second", "first", "done"]
    messages = build_messages("", path)
    assert [message.content for message in messages if message.role == "tool"] == ["first", "second"]
    before = await store.before(held.info.id, final.id, 1)
    assert texts(before.entries) == ["let me see", "second", "first"]
    assert before.more


async def test_requests_read_no_further_than_the_newest_summary_keeps(store: Store, gateway: Gateway) -> None:
    held = await talk(store, "one", "two", "three")
    path = (await store.tail(held.info.id, 9)).entries
    kept = path[4].id
    old = await add(gateway, held.info.id, path[-1].id, Kind.SUMMARY, "older", kept_from=path[2].id)
    new = await add(gateway, held.info.id, old.id, Kind.SUMMARY, "newer", kept_from=kept)
    after = await add(gateway, held.info.id, new.id, Kind.QUESTION, "four")

    assert texts(await store.model_path(after.id)) == ["three", "On three", "older", "newer", "four"]
    nothing = await add(gateway, held.info.id, new.id, Kind.SUMMARY, "keeps nothing")
    assert texts(await store.model_path(nothing.id)) == ["keeps nothing"]


async def test_an_unknown_leaf_has_no_path(store: Store) -> None:
    await talk(store, "one")
    assert await store.model_path(999) == []


@dataclass
class Cost:
    statements: int = 0
    steps: int = 0
    """Instructions of SQLite's machine: what it reads grows with them."""


class MeteredStore:
    """A store whose engine counts what it is asked to do."""

    def __init__(self, database: Path) -> None:
        self.cost = Cost()
        engine = open_engine(database)
        event.listen(engine, "connect", self._meter)
        event.listen(engine, "before_cursor_execute", self._statement)
        self.store = Store(Gateway(engine, schema=newest_schema()), database)

    async def of(self, what: Callable[[], Awaitable[object]]) -> Cost:
        await what()  # SQLAlchemy compiles, SQLite prepares
        self.cost = Cost()
        await what()
        return self.cost

    def _meter(self, connection: sqlite3.Connection, _record: object) -> None:
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self.cost.steps += 1
        return 0

    def _statement(self, *_: object) -> None:
        self.cost.statements += 1


async def measure(database: Path, length: int) -> dict[str, Cost | int]:
    """What each step of a session of ``length`` entries costs."""
    store = Store.open(database, program_version=VERSION)
    held = await talk(store, "one")
    fill(database, held.info.id, length)
    await held.release()
    await store.close()

    metered = MeteredStore(database)
    store = metered.store
    info = await store.find(held.info.handle)
    assert info.last_entry == length + 2
    taken = await store.hold(info.handle)

    async def one_turn() -> None:
        turn = await taken.begin(opening("next", taken.info.head))
        await taken.settle(turn, settled())

    costs: dict[str, Cost | int] = {
        "tail": await metered.of(lambda: store.tail(info.handle, 40)),
        "before": await metered.of(lambda: store.before(info.id, info.last_entry, 40)),
        "find": await metered.of(lambda: store.find(info.handle)),
        "latest": await metered.of(lambda: store.latest(info.workspace_root)),
        "page": await metered.of(lambda: store.page(info.workspace_root)),
        "turn": await metered.of(one_turn),
        "fork": await metered.of(lambda: store.fork(info.handle)),
        "questions": await metered.of(lambda: store.questions(info.workspace_root, info.id, 20)),
    }
    log = database.with_name(f"{database.name}-wal")
    before = log.stat().st_size
    for _ in range(5):
        await one_turn()
    costs["written"] = log.stat().st_size - before
    await store.close()
    return costs


async def test_no_step_costs_more_in_a_longer_session(tmp_path: Path) -> None:
    short = await measure(tmp_path / "short.db", 100)
    long = await measure(tmp_path / "long.db", 10_000)

    for name in short.keys() - {"written"}:
        assert isinstance(few := short[name], Cost) and isinstance(many := long[name], Cost)
        assert many.statements == few.statements, name
        assert many.steps <= few.steps * 1.1 + 20, f"{name}: {few} then {many}"
    assert isinstance(few_bytes := short["written"], int) and isinstance(many_bytes := long["written"], int)
    assert 0 < many_bytes <= few_bytes * 1.5, (few_bytes, many_bytes)


def spoil(database: Path, marker: str) -> None:
    """Overwrite the page that holds ``marker`` with what is no page."""
    data = bytearray(database.read_bytes())
    at = data.index(marker.encode())
    start = at // PAGE * PAGE
    data[start : start + PAGE] = b"\xa5" * PAGE
    database.write_bytes(data)


async def damaged_session(database: Path) -> tuple[HeldSession, list[str]]:
    """A session of which one entry's page is spoiled; each entry has a page of its own."""
    store = Store.open(database, program_version=VERSION)
    questions = [f"question {number} " + f"{number}" * 3500 for number in range(6)]
    held = await talk(store, *questions)
    await held.release()
    await store.close()
    spoil(database, "question 2 ")
    return held, questions


async def test_a_damaged_page_costs_its_own_text_and_no_ancestor(database: Path) -> None:
    held, questions = await damaged_session(database)

    store = Store.open(database, program_version=VERSION)
    try:
        tail = await store.tail(held.info.handle, 50)
        unreadable = [entry for entry in tail.entries if not entry.readable]
        assert len(tail.entries) == 12
        assert 1 <= len(unreadable) <= 2
        assert unreadable[0].kind is Kind.QUESTION
        assert unreadable[0].parent == tail.entries[3].id
        readable = texts([entry for entry in tail.entries if entry.kind is Kind.QUESTION and entry.readable])
        assert readable == [question for question in questions if not question.startswith("question 2")]

        again = await store.hold(held.info.handle)
        assert again.info.head is not None
        sent = build_messages("", await store.model_path(again.info.head))
        assert questions[0] in [message.content for message in sent]
        turn = await again.begin(opening("still here?", again.info.head))
        assert (await again.settle(turn, settled())) is not None
    finally:
        await store.close()


async def test_damaged_turns_withhold_no_text(built: Path) -> None:
    store = Store.open(built, program_version=VERSION)
    held = await talk(store, "one", "two")
    await store.close()
    with closing(sqlite3.connect(built)) as db:
        db.execute("UPDATE turns SET model = 'a-model-to-find' WHERE id = 1")
        db.commit()
    spoil(built, "a-model-to-find")

    store = Store.open(built, program_version=VERSION)
    tail = await store.tail(held.info.handle, 9)
    await store.close()
    assert texts(tail.entries) == ["one", "On one", "two", "On two"]
    assert tail.turns == {}


@pytest.mark.parametrize(
    ("column", "value"),
    [("text", b"\xff\xfe"), ("thinking", b"\xc3("), ("calls", b"{not json"), ("kind", b"riddle")],
)
async def test_bytes_that_nothing_of_ours_wrote_are_shown_as_unreadable(
    store: Store, database: Path, column: str, value: bytes
) -> None:
    held = await talk(store, "one", "two")
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER entries_never_change")
        db.execute(f"UPDATE entries SET {column} = CAST(? AS TEXT) WHERE id = 2", (value,))
        db.commit()

    entries = (await store.tail(held.info.id, 9)).entries
    assert [entry.readable for entry in entries] == [True, False, True, True]
    assert [entry.id for entry in entries] == [1, 2, 3, 4]


async def test_a_walk_ends_where_a_damaged_tree_turns_in_a_circle(store: Store, database: Path) -> None:
    held = await talk(store, "one", "two")
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER entries_never_change")
        db.execute("UPDATE entries SET parent = 4 WHERE id = 1")
        db.commit()

    assert [entry.id for entry in await store.model_path(4)] == [1, 2, 3, 4]
    assert len((await store.tail(held.info.id, 50)).entries) == 4


async def test_a_session_without_entries_has_an_empty_tail(store: Store) -> None:
    await store.create(new_session(), opening())
    empty = await store.tail(999, 5)
    assert (empty.entries, empty.more) == ((), False)
