"""A database with something in every table, written by the program itself, and its rows as text.

``python -m tests.proofs.filled`` writes the rows of the newest revision to ``filled/NNNN.json``. That is done
once, before the next revision lands: from then on no program is left that could.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from local_agent.domain.drafts import Draft, Prompt
from local_agent.domain.entries import PICTURES_FORGOTTEN
from local_agent.domain.ledger import EventKind, Receipt
from local_agent.domain.moves import Scope
from local_agent.domain.pictures import Picture
from local_agent.domain.ports import Reply
from local_agent.domain.restoring import FileStep, RestoreIntent, change_of
from local_agent.domain.tools import FileChange, FileState
from local_agent.store.revisions import migrations_folder, shipped
from local_agent.store.store import Store
from tests.store.samples import (
    BASH,
    EFFECTS,
    FOUND,
    READ,
    VERSION,
    failed,
    new_session,
    opening,
    reply_half,
    run_call,
    settled,
    talk,
)
from tests.support.crash import crash_at

IN_MID_REPLY = "reply.keep:after-commit"
FOLDER = Path(__file__).parent / "filled"
NASTY = (
    "nul \0, surrogate \ud800, bidi \u202e, escape \x1b[31m, combining e\u0301, \U0001f9d1\u200d\U0001f680"
)
PICTURE = Picture("5e" * 32, NASTY, "image/webp", 40_000, 640, 480)
# What the migrations themselves write; a database that is built has it already.
_OWN = ("alembic_version", "schema_migrations")

Rows = dict[str, list[dict[str, Any]]]


def fill(database: str) -> None:
    """Every kind of row that the program writes; killed at ``IN_MID_REPLY``, what that leaves behind too."""
    asyncio.run(_fill(Path(database)))


async def _fill(path: Path) -> None:
    store = Store.open(path, program_version=VERSION)
    first = await talk(store, "What is a tree?", NASTY, "x" * 9_000, title=NASTY)
    await first.rename("Named by a person")
    await first.set_model("other:3b", pinned=True)
    queue = Prompt("queued"), Prompt(NASTY, (PICTURE,))
    await store.save_draft(first.info.workspace_root, first.info.id, Draft(NASTY, queue, (PICTURE,)))
    await first.release()
    await store.save_draft("/projects/no session yet", None, Draft("unsent"))

    second = await talk(store, "And a forest?", root="/projects/with a fail\u00fcre")
    shown = replace(opening("This fails.", second.info.head), pictures=(PICTURE, PICTURE))
    turn = await second.begin(shown)
    await second.settle(turn, failed(f"The server said {NASTY}"))
    await second.mark(second.info.head, PICTURES_FORGOTTEN)

    trashed = await talk(store, "Away with it", root="/projects/tidy")
    await trashed.release()
    await store.trash(trashed.info.handle)
    headless, turn = await store.create(new_session("By -p", headless=True), opening("Once"))
    await headless.settle(turn, settled())

    await _fill_ledger(store)
    await _fill_time(store)
    cut, turn = await store.create(new_session("Cut off"), opening("And then?"))
    await reply_half(cut, turn, NASTY)


async def _fill_ledger(store: Store) -> None:
    """Calls in each state: ended with changes, refused, settled, uncertain, and those of a command."""
    held, turn = await store.create(new_session("With tools"), opening("Tidy up"))
    odd = replace(BASH, arguments={"command": NASTY})
    _, calls = await held.record(turn, Reply(NASTY, calls=(READ, odd, odd, odd)), EFFECTS + EFFECTS[1:] * 2)
    read, denied, settled_call, uncertain = calls
    await run_call(held, read, NASTY)
    asked = await held.note(denied, EventKind.APPROVAL_REQUESTED, {"target": NASTY})
    await held.finish(asked, EventKind.DENIED, Receipt("refused"), "no", ())
    await held.start(settled_call, {"target": NASTY, "pid": 4711})
    await held.start(uncertain, {})
    await held.settle(turn, settled())
    await held.settle_uncertain([settled_call.id], replace(FOUND, summary=NASTY))
    command = await held.begin(replace(opening(NASTY, held.info.head), command=odd))
    (call,) = await held.requested(command)
    change = FileChange(NASTY, "changed", "0" * 64, "1" * 64, 0o644)
    await held.finish(
        await held.start(call, {}), EventKind.COMPLETED, Receipt("ok", diff=NASTY), NASTY, (change,)
    )
    await held.settle(command, settled(""))


async def _fill_time(store: Store) -> None:
    """Undone and done again, branches, checkpoints of each kind, a compaction, a restore that was cut off."""
    held = await talk(store, "One way", "Another", title="Back and forth")
    key = held.info.id
    step = FileStep(NASTY, FileState("0" * 64, 0o100644), FileState())
    intent = RestoreIntent(NASTY, (step,))
    made = await held.make_checkpoint(NASTY)
    await held.travel(await store.undo_landing(key), Scope.BOTH, intent)
    begun = await store.unfinished_restore(key)
    assert begun is not None
    await held.end_restore(begun, EventKind.COMPLETED, Receipt("ok"), (change_of(step),))
    await held.travel(await store.redo_landing(key), Scope.CONVERSATION, None)
    await held.travel(await store.undo_landing(key), Scope.CONVERSATION, None)
    turn = await held.begin(opening("A third", held.info.head))
    await held.settle(turn, settled())
    assert held.info.head is not None
    await held.compact(held.info.head, NASTY, held.info.head, context=NASTY)
    await held.travel(await store.checkpoint_landing(key, made.id), Scope.BOTH, intent)


def read_rows(path: Path) -> Rows:
    """All rows of all tables; texts as bytes in Latin-1, so that any of them fits into JSON."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        db.text_factory = lambda data: data.decode("latin-1")
        db.row_factory = sqlite3.Row
        # The index of words follows from the entries; the program makes it anew.
        names = (
            "SELECT name FROM sqlite_master WHERE type = 'table' "
            "AND name NOT LIKE 'sqlite^_%' ESCAPE '^' AND name NOT LIKE 'entry^_term%' ESCAPE '^'"
        )
        tables = sorted(str(row[0]) for row in db.execute(names))
        return {table: [dict(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables}


def write_rows(path: Path, rows: Rows) -> None:
    """Put rows into a database that was just built; texts go back to the bytes that they were."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN")
        db.execute("PRAGMA defer_foreign_keys = ON")
        for table in rows.keys() - set(_OWN):
            for row in rows[table]:
                values = [v.encode("latin-1") if isinstance(v, str) else v for v in row.values()]
                marks = ("CAST(? AS TEXT)" if isinstance(v, str) else "?" for v in row.values())
                db.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join(marks)})", values)
        assert db.execute("PRAGMA foreign_key_check").fetchone() is None
        db.execute("COMMIT")


def recorded_rows(revision: str) -> Rows:
    """What the program of ``revision`` wrote."""
    rows: Rows = json.loads((FOLDER / f"{revision}.json").read_text("ascii"))
    return rows


def _anonymous(rows: Rows) -> Rows:
    """Without what tells of the machine that it was made on."""
    machine = {"machine_id": "machine", "boot_id": "boot", "host": "host", "terminal": "/dev/pts/0"}
    return {
        table: [{name: machine.get(name, value) if name != "host" or table == "leases" else value
                 for name, value in row.items()} for row in found]
        for table, found in rows.items()
    }  # fmt: skip


def main() -> None:
    from tests.proofs import filled  # the child finds it by this name, not as the program that runs here

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "local-agent.db"
        crash_at(IN_MID_REPLY, filled.fill, str(path))
        rows = _anonymous(read_rows(path))
    revision = shipped(migrations_folder())[-1].revision
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{revision}.json").write_text(json.dumps(rows, indent=1) + "\n", "ascii")


if __name__ == "__main__":
    main()
