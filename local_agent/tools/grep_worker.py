"""Runs as a program of its own: matches lines, and is killed when an expression never comes to an end.

Reads a JSON line with the expression, then for each file a JSON line and its bytes; answers each with a JSON
line. It opens nothing. Only the standard library is there: it is started for every search.
"""

import fcntl
import json
import os
import re
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

HITS = 2_000
"""Lines of one file that are given back; the rest are counted."""
LONGEST = 10
"""Seconds that a file may take; whoever asks waits for less."""
BEFORE = 100
"""Characters before a match that are shown of a long line."""


def compiled(request: dict[str, Any]) -> tuple[re.Pattern[str] | None, str]:
    """The expression, or what is wrong with it."""
    warnings.simplefilter("ignore")
    try:
        return re.compile(request["pattern"], re.IGNORECASE if request["ignore_case"] else 0), ""
    except (re.error, OverflowError, RecursionError) as error:
        return None, str(error)


def hits_of(pattern: re.Pattern[str], text: str, width: int) -> dict[str, Any]:
    """How many lines match, and the first of them: number, what is shown, true length in characters."""
    hits: list[tuple[int, str, int]] = []
    count = 0
    for number, ended in enumerate(text.removesuffix("\n").split("\n") if text else (), 1):
        line = ended.removesuffix("\r")
        found = pattern.search(line)
        if found:
            count += 1
            if len(hits) < HITS:
                start = max(found.start() - BEFORE, 0) if len(line) > width else 0
                hits.append((number, line[start : start + width], len(line)))
    return {"count": count, "hits": hits}


@contextmanager
def alone() -> Iterator[None]:
    """While an expression is matched nobody reads: that the other end was closed comes as a signal.

    Where a system knows no such signal, nothing goes on for longer than anybody would wait.
    """
    signal.signal(signal.SIGIO, lambda number, frame: os._exit(1))
    signal.alarm(LONGEST)
    flags = fcntl.fcntl(sys.stdin, fcntl.F_GETFL)
    with suppress(OSError):
        fcntl.fcntl(sys.stdin, fcntl.F_SETOWN, os.getpid())
        fcntl.fcntl(sys.stdin, fcntl.F_SETFL, flags | os.O_ASYNC)
    yield
    with suppress(OSError):
        fcntl.fcntl(sys.stdin, fcntl.F_SETFL, flags)
    signal.alarm(0)


def main() -> None:
    """Answer until nobody asks any more."""
    pattern: re.Pattern[str] | None = None
    for line in iter(sys.stdin.buffer.readline, b""):
        asked = json.loads(line)
        if "pattern" in asked:
            pattern, problem = compiled(asked)
            said: dict[str, Any] = {"problem": problem}
        else:
            text = sys.stdin.buffer.read(asked["size"]).decode(asked["codec"], "replace")
            with alone():
                said = hits_of(pattern, text, asked["width"]) if pattern else {}
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
