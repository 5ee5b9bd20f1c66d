"""Runs as a program of its own: matches lines, and is killed when an expression never comes to an end.

Reads a JSON line with the expression, then for each file a JSON line and its bytes; answers each with a JSON
line. It opens nothing. Only the standard library is there: it is started for every search.
"""

import json
import re
import signal
import sys
import warnings
from typing import Any, BinaryIO

HITS = 2_000
"""Lines of one file that are given back; the rest are counted."""
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


def answer(pattern: re.Pattern[str], asked: dict[str, Any], source: BinaryIO) -> dict[str, Any]:
    """What is to be said of the file that comes next."""
    text = source.read(asked["size"]).decode(asked["codec"], "replace")
    return hits_of(pattern, text, asked["width"])


def main() -> None:
    """Answer until nobody asks any more."""
    pattern: re.Pattern[str] | None = None
    for line in iter(sys.stdin.buffer.readline, b""):
        asked = json.loads(line)
        # Whoever asks may be gone: without an end of its own, a hopeless match would go on for ever.
        signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
        if "pattern" in asked:
            pattern, problem = compiled(asked)
            said: dict[str, Any] = {"problem": problem}
        else:
            said = answer(pattern, asked, sys.stdin.buffer) if pattern else {}
        signal.setitimer(signal.ITIMER_REAL, 0)
        sys.stdout.write(json.dumps(said) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
