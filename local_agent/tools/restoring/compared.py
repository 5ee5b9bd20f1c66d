"""Paths as they were and as they are, as a unified diff; where there can be none, a sentence says why."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from local_agent.domain.restoring import Barred, PlannedPath, Standing
from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line
from local_agent.domain.tools import FileState, ToolFailed
from local_agent.objects.store import ObjectMissing
from local_agent.tools.changing.disk import MOST_TEXT, held
from local_agent.tools.changing.endings import NoText, decode
from local_agent.tools.changing.hunks import hunks_between, lines_of, unified
from local_agent.tools.folder import Folder
from local_agent.tools.restoring.look import LINK, place_of

MOST_SHOWN = 4_000_000
"""Characters of a diff; whole files beyond that are only counted."""
_PERMISSIONS = 0o7777


class _Incomparable(Exception):
    """``str()`` is what is said in place of a diff."""


def compared(folder: Folder, paths: Sequence[PlannedPath], *, back: bool) -> str:
    """What became of paths since then; with ``back``, what putting them back would do. Blocks on the disk.

    Every path is named: with its hunks, or in a line of its own.
    """
    pieces: list[str] = []
    shown = 0
    for place, path in enumerate(paths):
        if shown > MOST_SHOWN:
            pieces.append(f"{len(paths) - place} more are not shown here.\n")
            break
        pieces.append(_compared(folder, path, back=back))
        shown += len(pieces[-1])
    return "\n".join(pieces)


def _compared(folder: Folder, path: PlannedPath, *, back: bool) -> str:
    shown = one_line(path.path)
    remark = f"{shown}: {path.note}; it is kept as it is.\n" if path.standing is Standing.CONFLICT else ""
    if path.standing is Standing.BARRED:
        return f"{shown}: {one_line(path.note)}.\n"
    try:
        then, now = _then(folder, path.then), _now(folder, path)
        before, after = (now, then) if back else (then, now)
        return remark + _diff(shown, before, after) + _modes(path, back=back)
    except _Incomparable as reason:
        return f"{remark}{shown}: {reason}.\n"


def _diff(shown: str, before: bytes | None, after: bytes | None) -> str:
    if before == after:
        return f"{shown}: its content is the same.\n"
    try:
        old, new = (lines_of(decode(side).body) if side is not None else [] for side in (before, after))
    except NoText:
        sizes = " -> ".join("nothing" if each is None else size_words(len(each)) for each in (before, after))
        raise _Incomparable(f"no text that could be compared, {sizes}") from None
    head = f"--- {'/dev/null' if before is None else f'a/{shown}'}\n"
    head += f"+++ {'/dev/null' if after is None else f'b/{shown}'}\n"
    hunks = hunks_between(old, new)
    if not hunks:
        ends = "it is empty" if not (old or new) else "line ends or encoding differ, no line does"
        return f"{head}{shown}: {ends}.\n"
    return head + unified(old, new, hunks)


def _modes(path: PlannedPath, *, back: bool) -> str:
    """Permissions, where only one side has others."""
    before, after = (path.now, path.then) if back else (path.then, path.now)
    if not (before.digest and after.digest) or before.mode is None or after.mode is None:
        return ""
    old, new = before.mode & _PERMISSIONS, after.mode & _PERMISSIONS
    return f"{one_line(path.path)}: mode {old:o} -> {new:o}.\n" if old != new else ""


def _then(folder: Folder, state: FileState) -> bytes | None:
    if not state.digest:
        return None
    return _text_or_folder(state, lambda: folder.outputs.get(state.digest))


def _now(folder: Folder, path: PlannedPath) -> bytes | None:
    """What a path holds at this moment, which may be no more what the plan saw."""
    if not path.now.digest:
        return None
    return _text_or_folder(path.now, lambda: _read(folder, path))


def _read(folder: Folder, path: PlannedPath) -> bytes | None:
    located = place_of(folder, path.path)
    if isinstance(located, Barred):
        raise _Incomparable(located.reason)
    try:
        if path.now.link:
            with folder.parent_of(located) as (parent, name):
                return LINK + os.fsencode(os.readlink(name, dir_fd=parent))
        found = held(folder, located)
    except ToolFailed as error:
        raise _Incomparable(str(error).rstrip(".")) from error
    except OSError as error:
        raise _Incomparable(f"it can't be read: {error.strerror}") from error
    return found.data if found is not None else None


def _text_or_folder(state: FileState, read: Callable[[], bytes | None]) -> bytes | None:
    if state.folder:
        raise _Incomparable("a folder")
    try:
        data = read()
    except ObjectMissing:
        raise _Incomparable("what it held then is not kept") from None
    if data is not None and len(data) > MOST_TEXT:
        raise _Incomparable(f"too large to be compared: {size_words(len(data))}")
    return data
