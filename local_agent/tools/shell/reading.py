"""What a command wrote, as lines that a model reads: without control sequences, bounded, true sizes said.

Offsets are bytes of the output as it was written, so that a reader can go on exactly where it stopped.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from local_agent.domain.text import decode, sanitise

LINE = 2_000
"""Bytes of one line; the offset of its rest is named."""
MOST_CLEANED = 64 * 1024
"""Bytes of a line in which control sequences are looked for before it counts as too long."""

# CSI, then strings up to their terminator (titles, links, pictures), then what is one or two characters.
_SEQUENCES = re.compile(
    rb"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|\Z)|\x1b[ -/]*[0-~]"
)
_BINARY_LOOK = 8_192
_BINARY_SHARE = 0.1
_NO_TEXT = re.compile("[\x00-\x07\x0e-\x1a\x1c-\x1f\x7f\ufffd]")


class Part(NamedTuple):
    """Some of an output."""

    text: str
    """Ends with a line break unless it is empty or the end of an output without one."""
    used: int
    """Bytes of the output that it stands for."""


def is_binary(data: bytes) -> bool:
    """True for what is no text, going by its beginning."""
    text = decode(data[:_BINARY_LOOK])
    return len(_NO_TEXT.findall(text)) > _BINARY_SHARE * len(text)


def clean(data: bytes) -> str:
    """Text as a terminal would leave it on its lines: what was written over (progress bars) is gone."""
    if b"\x1b" in data:
        data = _SEQUENCES.sub(b"", data)
    if b"\r" in data:
        data = b"\n".join(line[_standing(line) :].rstrip(b"\r") for line in data.split(b"\n"))
    text = decode(data)
    return sanitise(_overstruck(text) if "\b" in text else text, tabs=True)


def front(data: bytes, limit: int, offset: int = 0) -> Part:
    """As many whole lines as ``limit`` bytes hold, from the beginning; at least a part of the first.

    ``offset`` is where ``data`` begins in the output.
    """
    taken: list[str] = []
    room, used = limit, 0
    for line in _lines(data):
        text = _bounded(line, offset + used, min(LINE, limit))
        room -= len(text.encode())
        if room < 0 and taken:
            break
        taken.append(text)
        used += len(line)
    return Part("".join(taken), used)


def back(data: bytes, limit: int, offset: int = 0) -> Part:
    """The same from the end."""
    taken: list[str] = []
    room, used = limit, 0
    for line in reversed(_lines(data)):
        text = _bounded(line, offset + len(data) - used - len(line), min(LINE, limit))
        room -= len(text.encode())
        if room < 0 and taken:
            break
        taken.append(text)
        used += len(line)
    return Part("".join(reversed(taken)), used)


def _lines(data: bytes) -> list[bytes]:
    """Lines with their breaks; a carriage return alone is none."""
    lines = [line + b"\n" for line in data.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _bounded(line: bytes, offset: int, limit: int) -> str:
    """One line of at most ``limit`` bytes; ``offset`` is where it begins in the output."""
    start = _standing(line) if len(line) > MOST_CLEANED else 0
    if len(line) - start <= MOST_CLEANED:
        text = clean(line[start:])
        if len(text.encode()) <= limit:
            return text
    shown = _whole_characters(line[start : start + limit])
    rest = offset + start + len(shown)
    return f"{clean(shown)} [a line of {len(line):,} bytes is cut here; its rest begins at offset {rest}]\n"


def _standing(line: bytes) -> int:
    """Where the last thing begins that was written to a line, after the carriage returns before it."""
    end = len(line)
    while (at := line.rfind(b"\r", 0, end)) >= 0:
        if line[at + 1 : end].strip():
            return at + 1
        end = at
    return 0


def _overstruck(text: str) -> str:
    """What is left on each line when a backspace takes the character before it."""
    left: list[str] = []
    for char in text:
        if char != "\b":
            left.append(char)
        elif left and left[-1] != "\n":
            left.pop()
    return "".join(left)


def _whole_characters(data: bytes) -> bytes:
    """Without the beginning of a character whose rest is missing."""
    for back_to in range(1, min(4, len(data)) + 1):
        lead = data[-back_to]
        if lead >= 0xC0:
            return data[:-back_to] if back_to < 2 + (lead >= 0xE0) + (lead >= 0xF0) else data
        if lead < 0x80:
            break
    return data
