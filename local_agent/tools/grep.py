"""``grep``: the lines that a regular expression matches."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from typing import NamedTuple

from local_agent.domain.text import REPLACEMENT, one_line
from local_agent.domain.tools import ResultStatus, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.folder import Folder, Located
from local_agent.tools.listing import Listing, Matcher, everything, hidden_words, listing, matcher
from local_agent.tools.looking import STOPPED, Aim, LookingTool
from local_agent.tools.matching import Hits, Matching, TooSlow
from local_agent.tools.output import first_lines
from local_agent.tools.paths import aimed, open_file, outside_of, why_not
from local_agent.tools.sieve import Sieve
from local_agent.tools.text_file import HEAD, encoding_of

SPEC = ToolSpec(
    "grep",
    "Search in files with a regular expression.",
    {
        "type": "object",
        "properties": {
            "pattern": {"type": "string"},
            "path": {"type": "string", "description": "folder or file"},
            "glob": {"type": "string", "description": "only these files, such as *.py"},
            "ignore_case": {"type": "boolean"},
            "max": {"type": "integer", "description": "most hits to show, 100 if not given"},
        },
        "required": ["pattern"],
    },
    example={"pattern": "def main", "path": "src", "glob": "*.py"},
)
MOST_HITS = 100
KEPT_HITS = 20_000
FILE_BYTES = 16 * 1024 * 1024
"""How far into a file is searched."""
SECONDS = 15.0
SLOW_FILES = 2
BATCH = 40
"""Files that are open at the same time."""
PATTERN_LENGTH = 1_000
_ROOM_FOR_WORDS = 500
_NO_FILE = (errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.ENXIO, errno.ENODEV)
"""Why it can't be opened when it is a link, something else, or gone since it was listed."""


class GrepPlan(NamedTuple):
    """What is looked for, and where."""

    pattern: str
    ignore_case: bool
    most: int
    where: Located
    wanted: Matcher


@dataclass
class Found:
    """What a search has come to."""

    lines: list[str] = field(default_factory=list)
    """Of the result: the path of each file, and below it its hits."""
    hits: int = 0
    files: int = 0
    """That have hits."""
    searched: int = 0
    wanted_lines: int = 0
    """Lines of the result up to the last hit that was asked for."""
    long: int = 0
    """Files that were searched in their beginning only."""
    unread: int = 0
    """Files that could not be opened."""
    slow: list[str] = field(default_factory=list)
    """Files in which the expression did not come to an end."""
    whole: bool = True

    def add(self, path: str, hits: Hits, most: int) -> None:
        """The hits of one more file."""
        self.searched += 1
        if not hits.lines:
            return
        self.files += 1
        left = most - self.hits
        if self.hits < KEPT_HITS:
            self.lines.append(one_line(path))
            self.lines += [_line(number, text, length) for number, text, length in hits.shown]
            if left > 0:
                self.wanted_lines = len(self.lines) - max(len(hits.shown) - left, 0)
        self.hits += hits.lines


def _aim(arguments: Mapping[str, object], folder: Folder) -> Aim[GrepPlan]:
    pattern, most = str(arguments["pattern"]), arguments.get("max", MOST_HITS)
    if not pattern or len(pattern) > PATTERN_LENGTH or "\n" in pattern:
        raise ToolFailed(f"The pattern must be one line of 1 to {PATTERN_LENGTH:,} characters.")
    if not isinstance(most, int) or most < 1:
        raise ToolFailed("max is a number of hits, from 1.")
    where = aimed(arguments.get("path"), folder)
    only = str(arguments.get("glob") or "")
    wanted = matcher(only, folder) if only else everything
    place = f" in {where.shown}" if where.relative != "." else ""
    ignore_case = bool(arguments.get("ignore_case", False))
    plan = GrepPlan(pattern, ignore_case, most, where, wanted)
    return Aim(f"{pattern}{place}{f' ({only})' if only else ''}", plan, outside_of(where))


def _look(plan: GrepPlan, folder: Folder, ended: threading.Event) -> ToolResult:
    end = time.monotonic() + SECONDS
    found = Found()
    with Matching(plan.pattern, plan.ignore_case, ended) as matching:
        listed = _files(plan, folder, ended)
        # To look for a literal first costs us less than to start anything.
        sieving = not matching.literal and len(listed.paths) > 1
        sieve = Sieve.of(plan.pattern, plan.ignore_case, folder.root) if sieving else None
        found.whole = listed.whole
        with closing(_sifted(listed.paths, plan.where, folder, found, sieve)) as files:
            for file, worth_it in files:
                if ended.is_set():
                    return STOPPED
                if time.monotonic() > end or len(found.slow) >= SLOW_FILES:
                    found.whole = False
                    break
                if worth_it:
                    _search(file, matching, found, plan.most)
                else:
                    found.searched += 1
    return STOPPED if ended.is_set() else _result(plan, folder, found, listed.hidden)


def _files(plan: GrepPlan, folder: Folder, ended: threading.Event) -> Listing:
    """The files that are searched."""
    try:
        descriptor = folder.open_beneath(plan.where)
    except OSError as error:
        raise ToolFailed(why_not(folder, plan.where, error)) from error
    kind = os.fstat(descriptor).st_mode
    os.close(descriptor)
    if stat.S_ISDIR(kind):
        wanted = plan.wanted
        return listing(folder, plan.where, lambda path, below: not below and wanted(path, False), ended)
    if not stat.S_ISREG(kind):
        raise ToolFailed(f"{plan.where.shown} is a pipe or a device, not a file.")
    return Listing([plan.where.relative], 0, True)


class OpenFile(NamedTuple):
    """A file to be searched."""

    path: str
    descriptor: int
    size: int


def _sifted(
    paths: Sequence[str], where: Located, folder: Folder, found: Found, sieve: Sieve | None
) -> Generator[tuple[OpenFile, bool], None, None]:
    """The files, open until the next one is asked for, and whether each may hold a match."""
    for start in range(0, len(paths), BATCH):
        with ExitStack() as opened:
            files = list(_opened(paths[start : start + BATCH], where, folder, found, opened))
            small = [file.descriptor for file in files if file.size <= FILE_BYTES]
            passed = sieve.passed(small) if sieve else set(small)
            for file in files:
                yield file, file.size > FILE_BYTES or file.descriptor in passed


def _opened(
    paths: Sequence[str], where: Located, folder: Folder, found: Found, opened: ExitStack
) -> Iterator[OpenFile]:
    """The files; what has become a link since it was listed is not followed."""
    for path in paths:
        try:
            descriptor, status = open_file(folder, Located(path, folder.root / path, path, where.outside))
        except ToolFailed as refusal:
            found.unread += isinstance(refusal.__cause__, OSError) and refusal.__cause__.errno not in _NO_FILE
            continue
        opened.callback(os.close, descriptor)
        yield OpenFile(path, descriptor, status.st_size)


def _search(file: OpenFile, matching: Matching, found: Found, most: int) -> None:
    # Where an open file is passed on, its place may be where ripgrep has left it.
    os.lseek(file.descriptor, 0, os.SEEK_SET)
    with open(file.descriptor, "rb", closefd=False) as source:
        head = source.read(HEAD)
        encoding = encoding_of(head)
        if encoding is None:
            return
        data = head + (source.read(FILE_BYTES - len(head)) if len(head) == HEAD else b"")
    try:
        found.add(file.path, matching.search(data[encoding.mark :], encoding.codec), most)
    except TooSlow:
        found.slow.append(file.path)
    found.long += file.size > FILE_BYTES


def _result(plan: GrepPlan, folder: Folder, found: Found, hidden: int) -> ToolResult:
    if found.slow and not found.hits:
        raise ToolFailed(
            f"The pattern takes too long in {one_line(found.slow[0])}. "
            "Use a simpler one, without repeats in repeats."
        )
    room = folder.result_bytes - _ROOM_FOR_WORDS
    shown, kept = first_lines(found.lines, room, folder.outputs, found.wanted_lines)
    count = f"{_count(found.hits, 'hit')} in {_count(found.files, 'file')}"
    if not found.hits:
        count = f"no hits in {_count(found.searched, 'file')}"
    seen = sum(line.startswith(" ") for line in shown)
    notes = [
        count,
        f"the first {seen:,} here: narrow the search for the rest" if seen < found.hits else "",
        "" if found.whole else "not everything was searched, it took too long: give a path or glob",
        f"the pattern takes too long in {_count(len(found.slow), 'file')}" if found.slow else "",
        f"{_count(found.long, 'file')} searched only in the first {FILE_BYTES >> 20} MiB"
        if found.long
        else "",
        f"{_count(found.unread, 'file')} can't be read" if found.unread else "",
        hidden_words(hidden),
    ]
    text = f"[{'; '.join(note for note in notes if note)}]\n{kept.text}".rstrip("\n")
    return ToolResult(ResultStatus.OK, text, count, size=kept.size, output=kept.output)


def _line(number: int, text: str, length: int) -> str:
    cut = f"… [cut: this line has {length:,} characters]" if length > len(text) else ""
    return f"  {number}: {text.replace(chr(0), REPLACEMENT)}{cut}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'s' * (number != 1)}"


GREP = LookingTool(SPEC, _aim, _look)
