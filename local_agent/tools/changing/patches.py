"""Reads unified diffs as models write them, and applies them by what they say, not by their counts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed
from local_agent.tools.changing.closest import closest, numbered
from local_agent.tools.changing.endings import dressed, ending_near, with_line_feeds
from local_agent.tools.changing.hunks import lines_of

MOST_FILES = 20
EXAMPLE = "For example:\n--- a/main.py\n+++ b/main.py\n@@ -1,2 +1,2 @@\n import sys\n-count = 1\n+count = 2"
_HEAD = re.compile(r"@@+(?: -(\d+)(?:,(\d+))? \+\d+(?:,\d+)?)?")
_NOTHING = "/dev/null"
_BEFORE_FILES = (
    "diff ",
    "index ",
    "similarity ",
    "dissimilarity ",
    "old mode",
    "new file",
    "Index: ",
    "====",
)
_OTHER_TOOLS = {
    "rename ": "use move to rename a file",
    "copy ": "use copy for a copy of a file",
    "deleted file": "use remove to remove a file",
    "new mode": "a mode can't be changed here, use bash",
    "GIT binary": "a binary file can't be patched",
    "Binary files": "a binary file can't be patched",
}


class PatchHunk(NamedTuple):
    """One hunk; its lines are without their ends."""

    line: int | None
    """Where it says that it stands, from 1; None when it doesn't, or says what can't be."""
    old: tuple[str, ...]
    new: tuple[str, ...]
    ends: bool | None
    """Whether the last line ends in a line feed where it is the file's last; None for as it was."""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a patch does to one file."""

    path: str
    created: bool
    hunks: tuple[PatchHunk, ...]


def parse(patch: str) -> list[FilePatch]:
    """The files of a patch in its order; raises ``ToolFailed`` with an example for what is none."""
    lines = [line.removesuffix("\n") for line in lines_of(with_line_feeds(patch))]
    if lines and lines[0].startswith("```"):
        lines = lines[1:]
        if lines and lines[-1].strip() == "```":
            lines.pop()
    files: list[FilePatch] = []
    place = 0
    while place < len(lines):
        if _is_head(lines, place):
            path, created = _names(lines[place][4:], lines[place + 1][4:])
            hunks, place = _hunks(lines, place + 2)
            if not hunks:
                raise ToolFailed(f"The patch has no hunk (@@) for {one_line(path, 200)}. {EXAMPLE}")
            files.append(FilePatch(path, created, hunks))
        else:
            _skip(lines[place], place)
            place += 1
    if not files:
        raise ToolFailed(f"The patch names no file with --- and +++. {EXAMPLE}")
    if len(files) > MOST_FILES:
        raise ToolFailed(f"The patch changes {len(files)} files; at most {MOST_FILES} at once: split it.")
    return files


def applied(text: str, hunks: Sequence[PatchHunk], shown: str) -> str:
    """The text with every hunk applied; raises ``ToolFailed`` that names the first that doesn't fit."""
    lines = lines_of(text)
    bare = [with_line_feeds(line).removesuffix("\n") for line in lines]
    pieces: list[str] = []
    place = position = 0
    for number, hunk in enumerate(hunks, 1):
        start = _start(bare, place, hunk, f"Hunk {number} of {shown}")
        end = start + len(hunk.old)
        untouched, before = "".join(lines[place:start]), "".join(lines[start:end])
        position += len(untouched)
        after = "".join(f"{line}\n" for line in hunk.new)
        if end == len(lines) and not _ends(hunk, before):
            after = after.removesuffix("\n")
        pieces += [untouched, dressed(after, before, ending_near(text, position))]
        place, position = end, position + len(before)
    return "".join([*pieces, *lines[place:]])


def _ends(hunk: PatchHunk, before: str) -> bool:
    """Whether a hunk at the end of a file leaves it with a line end."""
    return hunk.ends if hunk.ends is not None else not before or before.endswith("\n")


def _start(bare: Sequence[str], place: int, hunk: PatchHunk, name: str) -> int:
    """The line, from 0, where a hunk belongs: where it says, or else at the only place where it fits."""
    old = list(hunk.old)
    if not old:
        start = 0 if not bare else hunk.line
        if start is None or not place <= start <= len(bare):
            raise ToolFailed(f"{name} holds no line of the file: repeat a line before and behind the change.")
        return start
    said = (hunk.line or 0) - 1
    if said >= place and bare[said : said + len(old)] == old:
        return said
    found = [at for at, line in enumerate(bare) if line == old[0] and list(bare[at : at + len(old)]) == old]
    ahead = [at for at in found if at >= place]
    if len(ahead) == 1:
        return ahead[0]
    if ahead:
        named = ", ".join(f"{at + 1:,}" for at in ahead[:5])
        raise ToolFailed(f"{name} fits in several places (lines {named}): give more lines around the change.")
    if found:
        raise ToolFailed(f"{name} belongs before the hunk above it: put the hunks in the order of the file.")
    near = closest("\n".join(bare), "\n".join(old))
    if near is None:
        raise ToolFailed(f"{name} was not found in the file. Read the file again.")
    raise ToolFailed(
        f"{name} was not found in the file. {near.differs} Closest, from line {near.first:,}:\n"
        f"{numbered(near.first, near.lines)}\nCopy the lines with a space or - exactly from there."
    )


def _names(old: str, new: str) -> tuple[str, bool]:
    """The path, and whether the file is new. Dates behind a tab, and ``a/`` and ``b/``, are no part of it."""
    old, new = (name.split("\t")[0].strip().strip('"') for name in (old, new))
    if new == _NOTHING:
        raise ToolFailed(f"The patch removes {one_line(old, 200)}: use remove to remove a file.")
    if new.startswith("b/") and (old.startswith("a/") or old == _NOTHING):
        old, new = old if old == _NOTHING else old[2:], new[2:]
    if old not in (_NOTHING, new):
        raise ToolFailed(f"The patch renames {one_line(old, 200)}: use move to rename a file.")
    return new, old == _NOTHING


def _skip(line: str, place: int) -> None:
    """Pass what may stand before a file; raises ``ToolFailed`` for what must not be passed over."""
    for start, way_out in _OTHER_TOOLS.items():
        if line.startswith(start):
            raise ToolFailed(f"Line {place + 1} of the patch: {way_out}.")
    if line.strip() and not line.startswith(_BEFORE_FILES):
        raise ToolFailed(
            f"Line {place + 1} of the patch is not understood: {one_line(line, 100)!r}. A hunk's lines begin "
            f"with a space, + or -, and each file with --- and +++. {EXAMPLE}"
        )


def _hunks(lines: Sequence[str], place: int) -> tuple[tuple[PatchHunk, ...], int]:
    """The hunks that begin at a line, and the line behind them."""
    hunks: list[PatchHunk] = []
    while place < len(lines) and (head := _HEAD.match(lines[place])):
        end = at = place + 1
        while at < len(lines) and _is_body(lines, at):
            at += 1
            # Models drop the space of an empty line; behind the last signed line it is none.
            end = at if lines[at - 1] else end
        hunks.append(_hunk(head, lines[place + 1 : end]))
        place = end
        while place < len(lines) and not lines[place]:
            place += 1
    return tuple(hunks), place


def _is_body(lines: Sequence[str], place: int) -> bool:
    """Whether a line can belong to the hunk above it. A file's head looks like a change of it."""
    return not lines[place] or (lines[place][0] in " +-\\" and not _is_head(lines, place))


def _is_head(lines: Sequence[str], place: int) -> bool:
    following = lines[place + 1] if place + 1 < len(lines) else ""
    return lines[place].startswith("--- ") and following.startswith("+++ ")


def _hunk(head: re.Match[str], body: Sequence[str]) -> PatchHunk:
    old, new = [], []
    ends: bool | None = None
    sign = " "
    for line in body:
        if line.startswith("\\"):
            ends = sign == "-"
            continue
        sign, text = line[:1] or " ", line[1:]
        if sign != "+":
            old.append(text)
        if sign != "-":
            new.append(text)
    said = int(head[1]) if head[1] and (old or head[2] == "0") else None
    return PatchHunk(said, tuple(old), tuple(new), ends)
