"""A session that can't be taken up says so in its trail of errors."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from tests.runtime.opened import opened
from tests.support.cut_off import cut_off
from tests.support.ollama_server import OllamaServer


def damage(database: Path, name: str) -> None:
    """Overwrite the first page of a table or index."""
    with closing(sqlite3.connect(database)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (name,)).fetchone()
        (size,) = db.execute("PRAGMA page_size").fetchone()
    with database.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)


async def test_a_resume_that_fails_is_in_the_trail(home: Path, server: OllamaServer) -> None:
    handle, _ = cut_off(home, home.parent / "work", [])
    damage(home / "local-agent.db", "turns_of_session")
    async with opened(home, server.url) as runtime:
        conversation = await runtime.resume(handle)
        assert conversation.read_only
        (record,) = await conversation.errors()
        assert (record.kind, record.turn_id, record.model) == ("resume", None, "llama3.2:3b")
        assert record.line in conversation.notices[0]
        assert [info.error_count for info in await runtime.library.page()] == [1]
