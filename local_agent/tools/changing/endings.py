"""Text as it lies in files: its encoding and line ends survive what is done to the rest of it.

Models write line feeds only; files have what they have.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

from local_agent.tools.changing.hunks import changes_between

_BREAK = re.compile("\r?\n")
_LINE_FEED = re.compile("\n")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NoText(Exception):
    """Bytes are no text that could be changed in part; ``str()`` says what they are."""


class Text(NamedTuple):
    """The text of a file and how it is written there; ``encode`` gives back the same bytes."""

    body: str
    """With the line ends of the file."""
    codec: str = "utf-8"
    mark: bytes = b""
    """The byte order mark that it begins with."""

    def encode(self) -> bytes:
        """The bytes of the file; raises ``NoText`` for what can't be written, such as half a character."""
        try:
            return self.mark + self.body.encode(self.codec)
        except UnicodeEncodeError as error:
            raise NoText("holds half a character, which no file can") from error

    def with_body(self, body: str) -> Text:
        """The same file with another text."""
        return self._replace(body=body)


def decode(data: bytes) -> Text:
    """The text of a file's bytes; raises ``NoText`` when they hold none that comes back as it was."""
    mark, codec = next(((mark, codec) for mark, codec in _MARKS if data.startswith(mark)), (b"", "utf-8"))
    try:
        body = data[len(mark) :].decode(codec)
    except UnicodeDecodeError as error:
        what = (
            "is binary"
            if b"\0" in data
            else f"is not {codec.upper()} text (byte {error.start + len(mark):,})"
        )
        raise NoText(what) from error
    if "\0" in body:
        raise NoText("is binary")
    return Text(body, codec, mark)


def with_line_feeds(text: str) -> str:
    """Every line end as one line feed. A carriage return elsewhere is a character like others."""
    return text.replace("\r\n", "\n")


def main_ending(text: str) -> str:
    """The line end that most lines of a file have; a line feed where there is none."""
    counted = Counter(match[0] for match in _BREAK.finditer(text))
    return "\r\n" if counted["\r\n"] > counted["\n"] else "\n"


def ending_near(text: str, place: int) -> str:
    """The line end of the line that holds ``place``, or of the one before; then the file's main one."""
    after = _BREAK.search(text, place)
    if after is not None:
        return after[0]
    before = text.rfind("\n", 0, place)
    if before < 0:
        return main_ending(text)
    return "\r\n" if text[before - 1 : before] == "\r" else "\n"


class Searched:
    """A file's text, to be searched for texts with line feeds whatever its own line ends are."""

    def __init__(self, text: str) -> None:
        self._plain = with_line_feeds(text)
        self._wide = list(_wide_ends(text)) if len(self._plain) != len(text) else []
        """Line feeds of the plain text that are two characters in the file."""

    def spans(self, wanted: str, *, overlapping: bool = False) -> Iterator[tuple[int, int]]:
        """Where ``wanted`` stands in the file's text, as start and end."""
        start = self._plain.find(wanted)
        while start >= 0:
            end = start + len(wanted)
            yield self._in_file(start), self._in_file(end)
            start = self._plain.find(wanted, start + 1 if overlapping else end)

    def __contains__(self, wanted: str) -> bool:
        return wanted in self._plain

    def _in_file(self, place: int) -> int:
        return place + bisect_left(self._wide, place)


def _wide_ends(text: str) -> Iterator[int]:
    place = text.find("\r\n")
    for before in count():
        if place < 0:
            return
        yield place - before
        place = text.find("\r\n", place + 2)


def dressed(text: str, before: str, ending: str) -> str:
    """A text with line feeds in the place of ``before``: the lines that stay keep their line ends.

    A new line gets the end of the one that it replaces, or of the one above, or else ``ending``.
    """
    old, new = list(_pairs(before, _BREAK)), list(_pairs(text, _LINE_FEED))
    old_lines, new_lines = ([line + "\n" * bool(end) for line, end in side] for side in (old, new))
    ends: list[str] = []
    place = 0
    for change in changes_between(old_lines, new_lines):
        ends += (end for _, end in old[place : change.start])
        for number in range(change.start, change.start + change.new_end - change.new_start):
            model = min(number, change.end - 1)
            ends.append((old[model][1] if model >= 0 else "") or ending)
        place = change.end
    ends += (end for _, end in old[place:])
    return "".join(line + end * bool(has_end) for (line, has_end), end in zip(new, ends, strict=True))


def _pairs(text: str, ends: re.Pattern[str]) -> Iterator[tuple[str, str]]:
    """Lines and their ends; only the last may have none."""
    start = 0
    for match in ends.finditer(text):
        yield text[start : match.start()], match[0]
        start = match.end()
    if start < len(text):
        yield text[start:], ""
