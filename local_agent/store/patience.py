"""How a blocking step waits for a lock: told when it takes long, called off when nobody waits any more."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

NOTICE_SECONDS = 1.0
PATIENCE_SECONDS = 60.0
RETRY_SECONDS = 0.02

BUSY_SECONDS = 0.1
"""SQLite's own wait can't be interrupted, so it is short; whoever needs longer tries again."""


class Patience:
    """For one opening; may be used by several steps, one after the other, on any thread.

    ``tell`` is called with True once a step has waited for a second, and with False when that is over.
    """

    def __init__(self, tell: Callable[[bool], None] | None = None, seconds: float = PATIENCE_SECONDS) -> None:
        self._tell = tell
        self._seconds = seconds
        self._called_off = threading.Event()

    def call_off(self) -> None:
        """Nobody waits for the result any more."""
        self._called_off.set()

    def until_free(self, step: Callable[[], T], errors: tuple[type[Exception], ...] = (sqlite3.Error,)) -> T:
        """Try again while another connection has the database locked; then the last error is raised.

        ``errors``: what ``step`` raises for the database's errors.
        """
        begun, told = time.monotonic(), False
        try:
            while True:
                try:
                    return step()
                except errors as error:
                    waited = time.monotonic() - begun
                    if not is_busy(error) or waited > self._seconds or self._called_off.is_set():
                        raise
                if waited > NOTICE_SECONDS and not told:
                    told = True
                    self._say(True)
                self._called_off.wait(RETRY_SECONDS)  # some locks are refused without SQLite's own wait
        finally:
            if told:
                self._say(False)

    def _say(self, waiting: bool) -> None:
        if self._tell is not None:
            self._tell(waiting)


def error_code(error: BaseException) -> int:
    """The primary SQLite result code behind an error; 0 when it is none of SQLite's."""
    code = getattr(getattr(error, "orig", error), "sqlite_errorcode", 0)
    return code & 0xFF if isinstance(code, int) else 0


def is_busy(error: BaseException) -> bool:
    """Another connection has the lock: trying again can help."""
    return error_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
