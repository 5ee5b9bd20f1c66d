"""Which tables a bundle holds, what it leaves out, and that its rows are checked one by one."""

from __future__ import annotations

import copy
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from local_agent.domain.bundles import NoBundle, Rows, from_lines, to_lines
from local_agent.domain.drafts import Draft
from local_agent.domain.entries import Kind
from local_agent.domain.errors import StoreError
from local_agent.domain.marks import Mark
from local_agent.domain.moves import Scope
from local_agent.domain.ports import Reply
from local_agent.store.bundle_check import require_sound
from local_agent.store.bundle_tables import LEFT_OUT, TABLES
from local_agent.store.check import check
from local_agent.store.models import Base
from local_agent.store.store import Store
from tests.store.samples import (
    EFFECTS,
    FOUND,
    ROOT,
    WANTED,
    failed,
    new_session,
    opening,
    run_call,
    settled,
    talk,
    wanting,
)

ELSEWHERE = "/projects/elsewhere"


def test_every_table_is_in_a_bundle_or_left_out_for_a_reason(built: Path) -> None:
    with closing(sqlite3.connect(built)) as db:
        made = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    # What SQLite keeps beside the index of words.
    made = {name for name in made if not name.startswith("entry_terms_")}
    assert made | Base.metadata.tables.keys() == TABLES.keys() | LEFT_OUT.keys()
    assert not TABLES.keys() & LEFT_OUT.keys()
    assert all(LEFT_OUT.values())


def test_every_column_is_in_a_bundle_or_has_a_new_value() -> None:
    renewed = {
        "sessions": {"id", "handle", "workspace_id", "trashed", "pinned", "parent_session", "last_entry"},
        "turns": {"id", "session_id"},
        "entries": {"id", "session_id"},
        "head_moves": {"session_id"},
        "drafts": {
            "id", "session_id", "workspace_id", "pid", "process_start", "machine_id", "boot_id", "updated_at"
        },
        "error_records": {"id", "session_id"},
        "executions": {"number", "id", "session_id"},
        "execution_events": {"number", "session_id"},
        "checkpoints": {"id", "session_id"},
    }  # fmt: skip
    for table, fields in TABLES.items():
        columns = set(Base.metadata.tables[table].columns.keys())
        assert columns - {field.name for field in fields} == renewed.get(table, set()), table


def row_counts(database: Path) -> dict[str, int]:
    with closing(sqlite3.connect(database)) as db:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {
            name: db.execute(f"SELECT count(*) FROM {name}").fetchone()[0]
            for name in names
            if not name.startswith("entry_term")
        }


async def rich(store: Store) -> str:
    """The handle of a session with a row of every kind but pictures."""
    held, turn, calls = await wanting(store, "Rich")
    await run_call(held, calls[0])
    await held.start(calls[1], {"target": "make test"})
    await held.settle(turn, failed("plans failed"))
    await held.release()
    held = await store.hold(held.info.handle)
    pending = await store.executions(held.info.id)
    uncertain = [each.id for each in pending if each.uncertain]
    assert await held.settle_uncertain(uncertain, FOUND, None) == len(uncertain) == 1
    await held.make_checkpoint("here")
    turn = await held.begin(opening("second \ud83d\ude00 \udc80", held.info.head))
    await held.settle(turn, settled("said"))
    await held.mark(held.info.head, f"{Mark.PIN} {turn.question.id}")
    await held.compact(
        held.info.head,
        "summary",
        turn.question.id,
        context=f"left 1\ntokens 5 2\nstay {turn.question.id}-{turn.question.id}",
    )
    landing = await store.undo_landing(held.info.id)
    await held.travel(landing, Scope.CONVERSATION, None)
    await store.save_draft(ROOT, held.info.id, Draft("unsent"))
    await held.release()
    return held.info.handle


async def rows_of(store: Store, handle: str) -> Rows:
    return (await store.settled_rows(handle)).rows


async def test_what_is_imported_makes_the_same_rows(store: Store, database: Path, tmp_path: Path) -> None:
    await (await talk(store, "before")).release()
    handle = await rich(store)
    rows = await rows_of(store, handle)
    assert [name for name, found in rows.items() if not found] == ["attachments", "file_changes"]

    first = await store.take_in(rows, ELSEWHERE, None)
    second = await store.take_in(rows, ELSEWHERE, "c0ffee")

    assert len({handle, first.handle, second.handle}) == 3
    for made in (first, second):
        assert await rows_of(store, made.handle) == rows
        assert (made.workspace_root, made.trashed, made.pinned, made.holder) == (
            ELSEWHERE,
            False,
            False,
            None,
        )
        assert (made.title, made.forked_from) == ("Rich", "")
    assert (await store.latest(ELSEWHERE)) == second
    there = Store.open(tmp_path / "other" / "local-agent.db", program_version="0.1.0")
    far = await there.take_in(rows, ELSEWHERE, None)
    assert await rows_of(there, far.handle) == rows
    assert [p.handle for p in (await there.search("second", None)).passages] == [far.handle]
    await there.close()
    assert check(database, database.parent / "backups").problems == []
    assert check(tmp_path / "other" / "local-agent.db", tmp_path).problems == []


async def test_marks_and_summaries_name_their_entries_again(store: Store) -> None:
    made = await store.take_in(await rows_of(store, await rich(store)), ELSEWHERE, None)
    nodes = await store.tree(made.id)
    (question,) = [node.entry_id for node in nodes if node.text.startswith("second")]
    said = {
        entry.kind: entry for node in nodes for entry in (await store.tail(made.id, 1, node.entry_id)).entries
    }
    assert said[Kind.MARKER].text == f"{Mark.PIN} {question}"
    assert said[Kind.SUMMARY].context.endswith(f"stay {question}-{question}")
    assert said[Kind.SUMMARY].kept_from == question


async def test_a_fork_takes_along_what_it_stands_on(store: Store) -> None:
    parent, turn, calls = await wanting(store, "Parent")
    await run_call(parent, calls[0], "shared output")
    await parent.settle(turn, settled("shared answer"))
    fork = await store.fork(parent.info.handle, "A fork")
    turn = await parent.begin(opening("not shared", parent.info.head))
    await parent.settle(turn, settled("nor this"))
    held = await store.hold(fork.handle)
    turn = await held.begin(opening("of the fork", held.info.head))
    await held.settle(turn, settled("its answer"))
    await held.release()
    rows = await rows_of(store, fork.handle)
    assert "not shared" not in {row["text"] for row in rows["entries"]}

    made = await store.take_in(rows, ELSEWHERE, None)

    before, after = await store.tail(fork.handle, 100), await store.tail(made.handle, 100)
    assert [entry.text for entry in after.entries] == [entry.text for entry in before.entries]
    assert [(e.tool, e.state, e.receipt) for e in after.executions.values()] == [
        (e.tool, e.state, e.receipt) for e in before.executions.values()
    ]
    assert await rows_of(store, made.handle) == rows
    assert {entry.session_id for entry in after.entries} == {made.id}


async def test_only_what_is_settled_is_taken(store: Store) -> None:
    held = await talk(store, "one", "two")
    whole = await store.settled_rows(held.info.handle)
    assert not whole.left_out
    turn = await held.begin(opening("running", held.info.head))
    _, calls = await held.record(turn, WANTED, EFFECTS)
    await run_call(held, calls[0])
    await held.keep(turn, Reply("half"))
    found = await store.settled_rows(held.info.handle)
    assert found.left_out
    for rows in (whole.rows, found.rows):
        rows["sessions"][0]["last_activity"] = rows["sessions"][0]["created_at"]
    assert found.rows == whole.rows
    await held.release()


async def test_of_a_first_turn_that_runs_there_is_nothing(store: Store) -> None:
    held, _ = await store.create(new_session(), opening())
    with pytest.raises(StoreError, match="nothing to bundle"):
        await store.settled_rows(held.info.handle)


async def test_what_the_program_can_not_have_written_is_not_bundled(store: Store, database: Path) -> None:
    handle = await rich(store)
    with closing(sqlite3.connect(database)) as db:
        db.execute("DROP TRIGGER execution_events_never_change")
        db.execute("UPDATE execution_events SET detail = '{}' WHERE kind = 'completed'")
        db.commit()
    with pytest.raises(StoreError, match="executions, number 1") as refused:
        await store.settled_rows(handle)
    assert refused.value.hint.endswith("local-agent db check")


def wrong_values(value: Any) -> list[Any]:
    """What can't stand there, whatever it is."""
    return [[], {}, True if type(value) is not bool else 2, 2**63, "\ud800" * 2 + "\0?", -1, 1.5, None]


async def test_each_wrong_value_is_refused(store: Store) -> None:
    rows = await rows_of(store, await rich(store))
    require_sound(rows)
    refused = 0
    for table, fields in TABLES.items():
        for field in fields:
            for value in wrong_values(rows[table][0][field.name]) if rows[table] else ():
                other = copy.deepcopy(dict(rows))
                other[table][0][field.name] = value
                try:
                    require_sound(other)
                except NoBundle:
                    refused += 1
                    continue
                # What passes has the type of its column, and is a value like any other.
                assert (value is None and field.nullable) or type(value) is field.type, (table, field.name)
    assert refused > 500


@pytest.mark.parametrize(
    ("table", "name", "value"),
    [
        ("entries", "parent", 99),
        ("entries", "parent", 2),
        ("entries", "turn_id", 99),
        ("entries", "kept_from", 3),
        ("entries", "call_number", 0),
        ("entries", "calls", "[" * 100_000),
        ("entries", "calls", "[1]"),
        ("sessions", "head", 99),
        ("sessions", "mode", "ROOT"),
        ("turns", "status", "running"),
        ("turns", "prompt_digest", "0" * 64),
        ("prompt_texts", "text", "another"),
        ("executions", "arguments_digest", "0" * 64),
        ("executions", "call_number", 7),
        ("executions", "turn_id", 2),
        ("execution_events", "detail", '{"a":1}'),
        ("execution_events", "kind", "approved"),
        ("execution_events", "execution_id", 2),
        ("reconciliations", "summary", "another"),
        ("head_moves", "step", 77),
        ("head_moves", "ledger_number", 1000),
        ("checkpoints", "ledger_number", 1000),
        ("drafts", "queue", "{}"),
        ("drafts", "text", ""),
    ],
)
async def test_each_wrong_reference_is_refused(store: Store, table: str, name: str, value: object) -> None:
    rows = copy.deepcopy(dict(await rows_of(store, await rich(store))))
    rows[table][1 if table == "entries" and name == "parent" else 0][name] = value
    with pytest.raises(NoBundle, match=r"has a row|holds"):
        require_sound(rows)


async def test_rows_that_are_not_one_session_are_refused(store: Store) -> None:
    rows = await rows_of(store, await rich(store))
    for table in ("sessions", "drafts", "head_moves", "executions", "prompt_texts"):
        other = copy.deepcopy(dict(rows))
        other[table].append(other[table][-1])
        with pytest.raises(NoBundle, match=table):
            require_sound(other)
    with pytest.raises(NoBundle, match="sessions"):
        require_sound({**rows, "sessions": []})


def test_lines_keep_every_text() -> None:
    rows = [{"text": "a\n\u2028\ud83d\ude00 \ud83d \ude00 \0", "n": 2**62, "x": None, "f": 0.1}]
    assert from_lines(to_lines(rows)) == rows
    wrong = b"{}", b"[]\n", b'{"a":1,"a":1}\n', b'{"a": 1}\n', b"{\n", b"\xff\n", b'{"a":NaN}\n', b"9" * 5000
    for data in (*wrong, b"[" * 100_000 + b"\n"):
        with pytest.raises(NoBundle):
            from_lines(data)


async def test_a_refused_write_leaves_nothing(store: Store, database: Path) -> None:
    rows = copy.deepcopy(dict(await rows_of(store, await rich(store))))
    before = row_counts(database)
    rows["file_changes"] = [{"event_number": 10**9}]
    with pytest.raises(KeyError):
        await store.take_in(rows, ELSEWHERE, None)
    assert row_counts(database) == before
