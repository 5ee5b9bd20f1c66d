"""Matches lines in a process of its own, so that no expression can hold the program up."""

from __future__ import annotations

import json
import os
import re
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed

SECONDS = 3.0
"""That one file may take."""
WIDTH = 300
"""Characters of a line that are shown."""

_WORKER = Path(__file__).with_name("grep_worker.py")
_TICK = 0.05
_READ = 64 * 1024
_PLAIN = re.compile(r"\\[^\w\s]|[^\\]|\\.", re.DOTALL)


class Hit(NamedTuple):
    """A line that matches."""

    number: int
    text: str
    """At most ``WIDTH`` characters, from a little before the match."""
    length: int
    """Characters of the whole line."""


class Hits(NamedTuple):
    """What one file has."""

    lines: int
    """That match."""
    shown: list[Hit]
    """The first of them."""


class TooSlow(Exception):
    """One file took too long, or the search was stopped in it."""


class Matching:
    """One expression, asked of one file after the other. To be used as a context, in one thread."""

    def __init__(self, pattern: str, ignore_case: bool, ended: threading.Event) -> None:
        self._pattern = pattern
        self._ignore_case = ignore_case
        self._ended = ended
        self._worker: subprocess.Popen[bytes] | None = None
        self.literal = "" if ignore_case else required_literal(pattern)
        """What is not in a file without it is not looked at any closer."""

    def __enter__(self) -> Matching:
        """Start the process. Raises ``ToolFailed`` for what is no expression."""
        self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def search(self, data: bytes, codec: str) -> Hits:
        """The lines that match; raises ``TooSlow``, and can be asked again."""
        if self.literal and self.literal.encode(codec, "replace") not in data:
            return Hits(0, [])
        if self._worker is None:
            self._start()
        said = self._ask({"size": len(data), "codec": codec, "width": WIDTH}, data)
        return Hits(int(str(said["count"])), [Hit(*hit) for hit in _list(said["hits"])])

    def _start(self) -> None:
        self._worker = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            said = self._ask({"pattern": self._pattern, "ignore_case": self._ignore_case})
        except TooSlow:
            raise ToolFailed("The search did not start.") from None
        if problem := said.get("problem"):
            self._end()
            plain = json.dumps({"pattern": re.escape(self._pattern)}, ensure_ascii=False)
            said_of_it = f"The pattern is no regular expression: {one_line(str(problem), 120)}."
            raise ToolFailed(f"{said_of_it} To find it as it stands: {plain}")

    def _ask(self, request: Mapping[str, object], data: bytes = b"") -> Mapping[str, object]:
        worker = self._worker
        assert worker is not None and worker.stdin is not None
        try:
            worker.stdin.write(json.dumps(request).encode() + b"\n" + data)
            worker.stdin.flush()
            said: Mapping[str, object] = json.loads(self._line(worker))
        except (OSError, ValueError, TooSlow) as error:
            self._end()
            raise TooSlow from error
        return said

    def _line(self, worker: subprocess.Popen[bytes]) -> bytes:
        """Its next answer."""
        assert worker.stdout is not None
        end = time.monotonic() + SECONDS
        pieces: list[bytes] = []
        descriptor = worker.stdout.fileno()
        while not (pieces and pieces[-1].endswith(b"\n")):
            if self._ended.is_set() or time.monotonic() > end:
                raise TooSlow
            if select.select([descriptor], [], [], _TICK)[0]:
                pieces.append(os.read(descriptor, _READ))
                if not pieces[-1]:
                    raise TooSlow
        return b"".join(pieces)

    def _end(self) -> None:
        worker, self._worker = self._worker, None
        if worker is None:
            return
        worker.kill()
        for pipe in (worker.stdin, worker.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        worker.wait()


def required_literal(pattern: str) -> str:
    """The longest text that every match must hold as it stands; empty where that is not plain to see."""
    runs = [""]
    for token in _PLAIN.findall(pattern):
        if token in tuple("|()[]{}") or (token[0] == "\\" and token[1:] in tuple("0123456789xuUN")):
            return ""
        if token in ("*", "?"):
            runs[-1] = runs[-1][:-1]
            runs.append("")
        elif token in (".", "^", "$", "+") or (token[0] == "\\" and token[1:].isalnum()):
            runs.append("")
        else:
            runs[-1] += token.removeprefix("\\")
    return max(runs, key=len)


def _list(value: object) -> list[tuple[int, str, int]]:
    return (
        [(int(number), str(text), int(length)) for number, text, length in value]
        if isinstance(value, list)
        else []
    )
