"""The log file: made at its first line, private, bounded, without the text of conversations."""

from __future__ import annotations

import copy
import errno
import logging
import os
import sys
import threading
import traceback
from collections.abc import Mapping
from datetime import UTC, datetime
from io import TextIOWrapper
from pathlib import Path
from types import TracebackType

from local_agent.config.paths import Paths
from local_agent.config.private_files import create_private, private_folder
from local_agent.domain.text import one_line

OURS = "local_agent"
DETAIL_VARIABLE = "LOCAL_AGENT_LOG"
MAX_BYTES = 1 << 20
KEPT = 3

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def start_logging(paths: Paths, env: Mapping[str, str] = os.environ) -> None:
    """Send everything that is logged to the file, so that nothing is ever drawn over the screen.

    ``LOCAL_AGENT_LOG=debug`` logs more, and then with the messages of exceptions, which may quote text.
    """
    detailed = env.get(DETAIL_VARIABLE, "").strip().lower() == "debug"
    handler = PrivateLogHandler(paths.log_file)
    handler.setFormatter(_LogFormatter(detailed))
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(OURS).setLevel(logging.DEBUG if detailed else logging.INFO)
    logging.captureWarnings(True)
    logging.raiseExceptions = False
    threading.excepthook = _log_thread
    sys.unraisablehook = _log_unraisable


def _log_thread(failed: threading.ExceptHookArgs) -> None:
    """Python would draw it over the screen, with the exception's words."""
    terminal_gone = isinstance(failed.exc_value, OSError) and failed.exc_value.errno == errno.EIO
    if failed.exc_value is not None and not terminal_gone:  # a closed window is no fault of ours
        logging.getLogger(OURS).error("a thread failed", exc_info=failed.exc_value)


def _log_unraisable(failed: sys.UnraisableHookArgs) -> None:
    logging.getLogger(OURS).error("a clean-up failed", exc_info=failed.exc_value)


class PrivateLogHandler(logging.FileHandler):
    """A file of mode 0600 in a folder of mode 0700; over 1 MB it becomes ``.1`` and a new one begins."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, encoding="utf-8", delay=True, errors="replace")
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; a log that can't be written never disturbs the program."""
        try:
            super().emit(record)
            if self.stream is not None and self.stream.tell() > MAX_BYTES:
                self.close()
                self._rotate()
        except (OSError, ValueError):
            self.handleError(record)

    def _open(self) -> TextIOWrapper:
        private_folder(self._path.parent)
        descriptor = create_private(self._path, os.O_WRONLY | os.O_APPEND)
        return open(descriptor, "a", encoding=self.encoding, errors=self.errors)

    def _rotate(self) -> None:
        for number in range(KEPT - 1, 0, -1):
            older = self._numbered(number)
            if older.exists():
                older.replace(self._numbered(number + 1))
        self._path.replace(self._numbered(1))
        self._closed = False

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


class _LogFormatter(logging.Formatter):
    """One line a record, in UTC; tracebacks without the exceptions' own words unless ``detailed``."""

    def __init__(self, detailed: bool) -> None:
        super().__init__("%(asctime)s %(process)d %(levelname)s %(name)s: %(message)s")
        self._detailed = detailed

    def format(self, record: logging.LogRecord) -> str:
        """Format a copy: another handler may have left its own text of the exception on the record."""
        record = copy.copy(record)
        record.exc_text = None
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        """UTC, with milliseconds."""
        return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Fold the message: outside text in it can't pretend to be another line.

        What a library says may quote what passes through it: only where it said it is kept.
        """
        if self._detailed or record.name.partition(".")[0] == OURS:
            record.message = one_line(record.message)
        else:
            record.message = f"words of a library, from {record.module}:{record.lineno}"
        return super().formatMessage(record)

    def formatException(self, ei: ExcInfo) -> str:
        """The frames, and the types of the exceptions."""
        if self._detailed:
            return super().formatException(ei)
        return "\n".join(_frames_and_types(ei[1]))


def _frames_and_types(error: BaseException | None) -> list[str]:
    lines: list[str] = []
    while error is not None:
        kind = type(error)
        lines.append(f"{kind.__module__}.{kind.__qualname__}, raised in:")
        lines += [line.rstrip("\n") for line in traceback.format_tb(error.__traceback__)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return lines
