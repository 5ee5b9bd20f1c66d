"""``read``: lines of a text file with their numbers."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Mapping
from typing import NamedTuple

from local_agent.domain.sizes import size_words
from local_agent.domain.text import REPLACEMENT
from local_agent.domain.tools import ResultStatus, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.folder import Folder, Located
from local_agent.tools.looking import STOPPED, Aim, LookingTool
from local_agent.tools.output import LINE, byte_length
from local_agent.tools.paths import aimed, open_file, outside_of
from local_agent.tools.text_file import HEAD, Decoder, encoding_of, kind_of

SPEC = ToolSpec(
    "read",
    "Read a text file. Each line comes as: number, tab, text.",
    {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "offset": {"type": "integer", "description": "first line, from 1"},
            "limit": {"type": "integer", "description": "how many lines"},
        },
        "required": ["path"],
    },
    example={"path": "src/main.py", "offset": 1, "limit": 200},
)
PIECE = 1024 * 1024
_NUMBER = 8
"""Bytes that a line's number may take."""
_ROOM_FOR_WORDS = 400


class ReadPlan(NamedTuple):
    """Which lines of which file."""

    file: Located
    first: int
    most: int | None


class Gathered:
    """The lines that are wanted of a text that comes in pieces, as many as fit, and how many there are."""

    def __init__(self, first: int, most: int | None, room: int) -> None:
        self.first = first
        self.lines: list[str] = []
        self.total = 0
        """Lines that have ended."""
        self.full = False
        self._most = most
        self._room = room
        self._width = min(LINE, max(room // 4, 80))
        self._line: list[str] = []
        """The wanted beginning of the line that has not ended."""
        self._length = 0

    def feed(self, text: str) -> None:
        """The next piece."""
        *ended, rest = text.split("\n")
        wanted_before = self.first - 1 - self.total
        if ended and (self.full or wanted_before >= len(ended)):
            self.total += len(ended)
            self._line, self._length = [], 0
            ended = []
        for piece in ended:
            self._grow(piece)
            self._end()
        self._grow(rest)

    def finish(self) -> None:
        """No more comes: a last line without an end is a line."""
        if self._length:
            self._end()

    def _grow(self, piece: str) -> None:
        if not self.full and self._length < self._width:
            self._line.append(piece[: self._width - self._length])
        self._length += len(piece)

    def _end(self) -> None:
        self.total += 1
        if self.total >= self.first and not self.full:
            line = "".join(self._line).removesuffix("\r").replace("\0", REPLACEMENT)
            if self._length > self._width:
                line += f"… [cut: this line has {self._length:,} characters]"
            cost = byte_length(line) + _NUMBER
            if cost > self._room and self.lines:
                self.full = True
            else:
                self.lines.append(line)
                self._room -= cost
                self.full = len(self.lines) == self._most
        self._line, self._length = [], 0


def _aim(arguments: Mapping[str, object], folder: Folder) -> Aim[ReadPlan]:
    first, most = arguments.get("offset", 1), arguments.get("limit")
    if not isinstance(first, int) or first < 0:
        raise ToolFailed("offset is the number of the first line, from 1.")
    if most is not None and (not isinstance(most, int) or most < 1):
        raise ToolFailed("limit is a number of lines, from 1.")
    located = aimed(arguments["path"], folder)
    first = max(first, 1)
    where = f":{first}" if first > 1 else ""
    return Aim(f"{located.shown}{where}", ReadPlan(located, first, most), outside_of(located))


def _look(plan: ReadPlan, folder: Folder, ended: threading.Event) -> ToolResult:
    descriptor, status = open_file(folder, plan.file)
    with open(descriptor, "rb", buffering=0) as file:
        head = file.read(HEAD) or b""
        encoding = encoding_of(head)
        if encoding is None:
            what = kind_of(head) or "it is not text"
            picture = " Ask the person to attach it with /image." if "picture" in what else ""
            true = size_words(status.st_size)
            raise ToolFailed(f"{plan.file.shown} is binary, read shows text only: {what}, {true}.{picture}")
        gathered = Gathered(plan.first, plan.most, folder.result_bytes - _ROOM_FOR_WORDS)
        decoder, digest, piece, size = Decoder(encoding), hashlib.sha256(), head, 0
        while piece:
            if ended.is_set():
                return STOPPED
            digest.update(piece)
            size += len(piece)
            gathered.feed(decoder.feed(piece))
            piece = file.read(PIECE) or b""
        gathered.feed(decoder.feed(b"", final=True))
        gathered.finish()
    notes = [
        encoding.note,
        "some bytes are not in its encoding and shown as \N{REPLACEMENT CHARACTER}" if decoder.broken else "",
        "it has other names too (hard links)" if status.st_nlink > 1 else "",
    ]
    result = _result(plan, gathered, size, [note for note in notes if note])
    folder.note_read(plan.file, digest.hexdigest())
    return result


def _result(plan: ReadPlan, gathered: Gathered, size: int, notes: list[str]) -> ToolResult:
    name, total = plan.file.shown, gathered.total
    if not size:
        return ToolResult(ResultStatus.OK, f"{name} is empty.", "empty")
    if not gathered.lines and total:
        raise ToolFailed(f"{name} has only {_lines(total)}.")
    last = plan.first + len(gathered.lines) - 1
    whole = len(gathered.lines) == total
    shown = _lines(total) if whole else f"lines {plan.first:,}-{last:,} of {total:,}"
    more = f", go on with offset={last + 1}" if last < total else ""
    said = "; ".join([f"{shown}{more}", *notes])
    numbered = (f"{number}\t{line}" for number, line in enumerate(gathered.lines, plan.first))
    text = "\n".join([f"[{name}: {said}]", *numbered])
    return ToolResult(ResultStatus.OK, text, shown, size=None if whole else size)


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


READ = LookingTool(SPEC, _aim, _look)
