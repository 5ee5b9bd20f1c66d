"""Counts what SQLite is asked to do: statements, commits, steps of its virtual machine, bytes of the log."""

from __future__ import annotations

import sqlite3
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import Engine, event

_COMMIT = ("COMMIT", "END")
PAGE_BYTES = 4096 + 24
"""A page in the log, with its header."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one piece of work took; ``steps`` grow with every row that is read, found or not."""

    statements: tuple[str, ...]
    commits: int
    steps: int
    wal_bytes: int

    @property
    def count(self) -> int:
        """Statements, those that begin and end transactions among them."""
        return len(self.statements)


class SqlMeter:
    """Watches all connections that are made while it is in use, and leaves the log of ``path`` to grow."""

    def __init__(self, path: Path) -> None:
        self._wal = path.with_name(f"{path.name}-wal")
        self._statements: list[str] = []
        self._steps = 0

    async def cost(self, work: Awaitable[object]) -> Cost:
        """Wait for some work and tell what it took."""
        seen, steps, size = len(self._statements), self._steps, self._size()
        await work
        statements = tuple(self._statements[seen:])
        commits = sum(statement.upper().startswith(_COMMIT) for statement in statements)
        return Cost(statements, commits, self._steps - steps, self._size() - size)

    def watch(self, connection: sqlite3.Connection, _record: object = None) -> None:
        """Count what this connection does from now on."""
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.set_trace_callback(self._statements.append)
        connection.set_progress_handler(self._step, 1)

    def _step(self) -> int:
        self._steps += 1
        return 0

    def _size(self) -> int:
        return self._wal.stat().st_size if self._wal.exists() else 0


@contextmanager
def metered(path: Path) -> Iterator[SqlMeter]:
    """A meter for every engine of this process that connects meanwhile; its log is that of ``path``."""
    meter = SqlMeter(path)
    event.listen(Engine, "connect", meter.watch)
    try:
        yield meter
    finally:
        event.remove(Engine, "connect", meter.watch)
