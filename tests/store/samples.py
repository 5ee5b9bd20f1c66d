"""Values that store tests write, and a long session put straight into the file."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from local_agent.domain.entries import EntryStatus, ErrorRecord, ToolCall, TurnStatus, Usage
from local_agent.domain.ledger import EventKind, Evidence, Execution, Observation, Receipt, Source
from local_agent.domain.ports import Opening, OpenTurn, Outcome, Reply
from local_agent.domain.sessions import NewSession
from local_agent.domain.tools import Effect
from local_agent.store.held import HeldSession
from local_agent.store.store import Store

ROOT = "/projects/tidy"
VERSION = "0.1.0"


def new_session(title: str = "Polish the page", *, root: str = ROOT, headless: bool = False) -> NewSession:
    return NewSession(root, title, "ollama", "http://127.0.0.1:11434", "tiny:1b", headless=headless)


def opening(text: str = "What is a tree?", parent: int | None = None) -> Opening:
    return Opening(text, parent, "tiny:1b", system_prompt="Answer in one line.")


def settled(text: str = "A plant with a trunk.") -> Outcome:
    return Outcome(TurnStatus.SETTLED, EntryStatus.SETTLED, "stop", Reply(text), Usage(12, 5))


def failed(line: str = "The server is gone.") -> Outcome:
    record = ErrorRecord("generation", line, "raw words", "What is a tree?", "tiny:1b", "ollama")
    return Outcome(TurnStatus.FAILED, EntryStatus.FAILED, None, Reply(), Usage(), record)


async def talk(
    store: Store, *questions: str, root: str = ROOT, title: str = "Polish the page"
) -> HeldSession:
    """A session with one settled turn for each question."""
    held: HeldSession | None = None
    for question in questions:
        if held is None:
            held, turn = await store.create(new_session(title, root=root), opening(question))
        else:
            turn = await held.begin(opening(question, held.info.head))
        await held.settle(turn, settled(f"On {question}"))
    assert held is not None
    return held


async def reply_half(held: HeldSession, turn: OpenTurn, text: str = "A plant wi") -> None:
    await held.keep(turn, Reply(text, thinking="Trees, then."))


def long_text(place: int) -> str:
    """What an entry says when it does not matter."""
    return "x" * 200


def fill(path: Path, session_id: int, count: int, *, says: Callable[[int], str] = long_text) -> None:
    """Add ``count`` entries to the end of a session's path, alternately asked and answered.

    ``says`` gives the text of each by its place among them, from 1 on.
    """
    with closing(sqlite3.connect(path)) as db:
        (head,) = db.execute("SELECT head FROM sessions WHERE id = ?", (session_id,)).fetchone()
        (top,) = db.execute("SELECT max(id) FROM entries").fetchone()
        (turn,) = db.execute("SELECT max(id) FROM turns").fetchone()
        before, messages = db.execute(
            "SELECT number, messages FROM head_moves WHERE session_id = ? ORDER BY number DESC", (session_id,)
        ).fetchone()
        entries, turns, moves = [], [], []
        for offset in range(1, count + 1):
            asked = offset % 2 == 1
            turn += asked
            if asked:
                turns.append((turn, session_id))
            parent = head if offset == 1 else top + offset - 1
            kind, origin = ("question", "person") if asked else ("assistant", "model")
            entries.append((top + offset, session_id, turn, parent, kind, origin, says(offset)))
            number = 1000 + offset
            step = number if asked else number - 1
            below = before if step == 1001 else step - 1
            length = messages + offset
            moves.append((session_id, number, parent, top + offset, turn, length, step, below))
        db.executemany(
            "INSERT INTO turns (id, session_id, status, model, model_digest, started_at)"
            " VALUES (?, ?, 'settled', 'tiny:1b', '', '2026-01-01T00:00:00.000Z')",
            turns,
        )
        db.executemany(
            "INSERT INTO entries (id, session_id, turn_id, parent, kind, origin, text, status, created_at,"
            " context, thinking, calls) VALUES (?, ?, ?, ?, ?, ?, ?, 'settled', '2026-01-01T00:00:00.000Z',"
            " '', '', '')",
            entries,
        )
        db.executemany(
            "INSERT INTO head_moves (session_id, number, from_entry, to_entry, cause, turn_id, created_at,"
            " messages, step, undo_below, redo_below, ledger_number)"
            " VALUES (?, ?, ?, ?, 'turn', ?, '2026-01-01T00:00:00.000Z', ?, ?, ?, 0, 0)",
            moves,
        )
        db.execute(
            "UPDATE sessions SET head = ?, last_entry = ? WHERE id = ?",
            (top + count, top + count, session_id),
        )
        db.commit()


READ = ToolCall("c1", "read", {"path": "notes.md"})
BASH = ToolCall("c2", "bash", {"command": "make test"})
WANTED = Reply("Let me look.", calls=(READ, BASH))
EFFECTS = Effect.READ_ONLY, Effect.EFFECTFUL
FOUND = Evidence(
    Observation.EFFECT_APPLIED,
    Source.WORKSPACE_ARTIFACT,
    "build/report.txt",
    "The report is there.",
    "2026-11-30T12:00:00Z",
)


async def wanting(store: Store, title: str = "With tools") -> tuple[HeldSession, OpenTurn, list[Execution]]:
    """A session whose first turn has asked for two calls: one that reads, and one that has an effect."""
    held, turn = await store.create(new_session(title), opening())
    _, calls = await held.record(turn, WANTED, EFFECTS)
    return held, turn, list(calls)


async def run_call(held: HeldSession, call: Execution, text: str = "Done.") -> Execution:
    """Start a call and complete it."""
    started = await held.start(call, {"target": "notes.md", "pid": 4711})
    receipt = Receipt("ok", "1 line", exit_code=0, seconds=0.5)
    done, _ = await held.finish(started, EventKind.COMPLETED, receipt, text, ())
    return done
