"""Bounds what a tool has to say: per line, and as a whole with head and tail, true sizes said in words."""

from __future__ import annotations

from typing import NamedTuple

from local_agent.domain.errors import LocalAgentError
from local_agent.domain.sizes import size_words
from local_agent.objects.store import Objects

LINE = 2_000
"""Characters of one line."""
HEAD_SHARE = 0.4
"""What a command did last says more than how it began."""
_LONGEST = LINE + 200
"""Of a line that says itself how it was cut."""
_NOTE = 240
"""Bytes that the words about what is left out may have."""


class Bounded(NamedTuple):
    """An output that fits."""

    text: str
    size: int | None = None
    """Bytes of the whole where ``text`` is a part of it."""
    output: str = ""
    """Digest of the whole in the object store where ``text`` is a part of it."""


def fits(text: str, limit: int) -> bool:
    """Whether a text needs no cut, in none of its lines either."""
    return byte_length(text) <= limit and (
        len(text) <= LINE or all(len(line) <= _LONGEST for line in text.split("\n"))
    )


def bounded(whole: str, limit: int, outputs: Objects) -> Bounded:
    """``whole`` in at most ``limit`` bytes; when something is cut, all of it is kept in ``outputs``.

    Blocks on the disk. An output that can't be kept is said to be lost.
    """
    if fits(whole, limit):
        return Bounded(whole)
    lines = [_short(line) for line in whole.split("\n")]
    text = "\n".join(lines)
    data = whole.encode("utf-8", "replace")
    digest, lost = _kept(data, outputs)
    if byte_length(text) + byte_length(lost) > limit:
        text = _ends(lines, max(limit - _NOTE - byte_length(lost), 0), len(data))
    return Bounded(text + lost, len(data), digest)


def fitting(lines: list[str], limit: int) -> int:
    """How many of the first lines have at most ``limit`` bytes together, line ends counted."""
    for number, line in enumerate(lines):
        limit -= byte_length(line) + 1
        if limit < -1:
            return number
    return len(lines)


def byte_length(text: str) -> int:
    """Bytes in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def cut_bytes(text: str, limit: int) -> str:
    """The beginning of a text in at most so many bytes, without half a character."""
    if len(text) * 4 <= limit:
        return text
    return text[:limit].encode("utf-8", "replace")[:limit].decode("utf-8", "ignore")


def _short(line: str) -> str:
    if len(line) <= _LONGEST:
        return line
    return f"{line[:LINE]}… [cut: this line has {len(line):,} characters]"


def _ends(lines: list[str], limit: int, size: int) -> str:
    """The first and the last lines, and between them what is missing."""
    first = fitting(lines, int(limit * HEAD_SHARE))
    head = lines[:first] or [cut_bytes(lines[0], int(limit * HEAD_SHARE))]
    rest = lines[max(first, 1) :]
    last = fitting(rest[::-1], limit - int(limit * HEAD_SHARE))
    tail = rest[len(rest) - last :]
    missing = len(lines) - first - last
    note = f"[... {missing:,} of {len(lines):,} lines left out here; all of it has {size_words(size)} ...]"
    return "\n".join([*head, note, *tail])


def _kept(data: bytes, outputs: Objects) -> tuple[str, str]:
    """Its digest; and where it can't be kept, the words for that."""
    try:
        return outputs.put(data), ""
    except LocalAgentError as error:
        return "", f"\n[what is left out could not be kept: {error.line[:160]}]"


def first_lines(
    lines: list[str], limit: int, outputs: Objects, most: int | None = None
) -> tuple[list[str], Bounded]:
    """As many of the first lines as fit, at most ``most``; all of them are kept where some are left out."""
    count = fitting(lines if most is None else lines[:most], limit)
    if count == len(lines):
        return lines, Bounded("\n".join(lines))
    data = "\n".join(lines).encode("utf-8", "replace")
    digest, lost = _kept(data, outputs)
    shown = lines[:count]
    return shown, Bounded("\n".join(shown) + lost, len(data), digest)
