"""``@path`` in a prompt: where one stands, what it means, and how a path is written as one.

A mention begins a word: the at sign of an address is none. ``@path:10-40`` means some lines. A path with
spaces is quoted, ``@"my notes.md"``; within quotes a backslash escapes, and ``\\xNN`` is a byte, so that
every name that a file can have can be written, seen and kept.
"""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from local_agent.domain.text import one_line

_OPENING = r"(?<![^\s(\[{<'\"])@"
# Bounded, so that no prompt makes the search slow.
_RANGE = r"(?::(?P<first>\d{1,9})(?P<to>-(?P<last>\d{1,9})?)?)?"
_CLOSING = r"""(?=[.,;:!?)\]}>'"]{0,8}(?:\s|\Z))"""
_QUOTED = r'"(?P<quoted>(?:[^"\\\n]|\\[^\n]){1,4096})"'
_BARE = r"""(?P<bare>[^\s"@`]{1,1024}?)"""
_MENTION = re.compile(f"{_OPENING}(?:{_QUOTED}|{_BARE}){_RANGE}{_CLOSING}")
_PLAIN = re.compile(r"""[^\s"@`\\'()\[\]{}<>]+(?<![.,;:!?])""")
_ENDS_AS_RANGE = re.compile(r":\d{1,9}(-\d{0,9})?\Z")
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|(.))")
_BEGUN = re.compile(f"{_OPENING}(?:" + r'"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<bare>[^\s"@`]*))' + r"\Z")
_REST = re.compile(r"""[^\s"@`(){}\[\]<>,;]*""")
_LONGEST_WORD = 4_096


class Mention(NamedTuple):
    """One ``@path`` of a prompt."""

    path: str
    """As the file system has it (``os.fsdecode``); relative to the workspace, absolute, or from ``~``."""
    quoted: bool = False
    first: int = 0
    """The first line that is meant, from 1; 0 for all."""
    last: int = 0
    """The last line that is meant; 0 for the end."""

    @property
    def label(self) -> str:
        """As it is written behind the at sign."""
        if not self.first:
            return written_path(self.path)
        last = f"{self.last}" if self.last else ""
        return f"{written_path(self.path)}:{self.first}" + (f"-{last}" if self.last != self.first else "")


class Word(NamedTuple):
    """The mention that is being typed at a cursor, in one line of text."""

    start: int
    """Where its at sign stands."""
    end: int
    """Behind its last character, which may lie behind the cursor."""
    query: str
    """The path as far as it is written before the cursor."""


def find_mentions(text: str) -> list[Mention]:
    """The mentions of a text, in order, each once."""
    if "@" not in text:
        return []
    found: dict[tuple[str, int, int], Mention] = {}
    for match in _MENTION.finditer(text):
        path = _unescaped(match["quoted"]) if match["quoted"] else match["bare"]
        first = int(match["first"] or 0)
        last = int(match["last"] or 0) if match["to"] else first
        found.setdefault((path, first, last), Mention(path, match["quoted"] is not None, first, last))
    return list(found.values())


def word_at(line: str, column: int) -> Word | None:
    """The mention that a cursor stands in or right behind, however much of it is there."""
    from_column = max(0, column - _LONGEST_WORD)
    match = _BEGUN.search(line[:column], from_column)
    if match is None:
        return None
    if match["quoted"] is not None:
        if line[column - 1] == '"' and match.end() - match.start() > 2:
            return None  # closed
        closing = line.find('"', column)
        rest = closing + 1 if closing >= 0 and "@" not in line[column:closing] else column
        return Word(match.start(), rest, _unescaped(match["quoted"]))
    rest_of = _REST.match(line, column)
    return Word(match.start(), rest_of.end() if rest_of else column, match["bare"])


def written_path(path: str) -> str:
    """A path as it stands behind an at sign: plain where that can be read back, else quoted and escaped."""
    clean = path.isprintable() and one_line(path) == path
    if clean and _PLAIN.fullmatch(path) and not _ENDS_AS_RANGE.search(path):
        return path
    return f'"{"".join(_escaped(char, clean or char.isascii()) for char in path)}"'


def _escaped(char: str, clean: bool) -> str:
    if char in '"\\':
        return f"\\{char}"
    if clean and char.isprintable():
        return char
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(char))


def _unescaped(text: str) -> str:
    if "\\" not in text:
        return text
    place, parts = 0, []
    for match in _ESCAPE.finditer(text):
        byte, char = match.groups()
        parts += [_bytes(text[place : match.start()]), bytes.fromhex(byte) if byte else _bytes(char)]
        place = match.end()
    return os.fsdecode(b"".join((*parts, _bytes(text[place:]))))


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
