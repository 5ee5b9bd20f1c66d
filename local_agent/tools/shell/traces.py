"""What became of the files of a workspace between two looks."""

from __future__ import annotations

import stat
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from local_agent.config.secrets import is_secret
from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER, UNKNOWN, FileChange, Sizes
from local_agent.tools.folder import Folder
from local_agent.tools.shell.contents import Content, Contents
from local_agent.tools.shell.snapshot import Look, Seen, look, seen_at

MOST_LISTED = 2_000
NAMED = 5
NAMED_BYTES = 200
"""Of the names that the model is told."""


@dataclass(frozen=True, slots=True)
class Traces:
    """What a command did to files, as far as it is known."""

    changes: tuple[FileChange, ...] = ()
    """By path."""
    sizes: tuple[Sizes, ...] = ()
    """One for each of them."""
    unscanned: str = ""
    """What is not known, and why."""
    more: int = 0
    """Paths with changes that are not listed."""

    @property
    def line(self) -> str:
        """What the model reads of it; empty when nothing was changed."""
        names: list[str] = []
        for change in self.changes[:NAMED]:
            name = _named(change)
            if sum(len(each.encode()) + 2 for each in (*names, name)) > NAMED_BYTES:
                break
            names.append(name)
        left = len(self.changes) + self.more - len(names)
        words = [", ".join(names)] if names else []
        words += [f"{left:,} more" if names else f"{left:,} files"] if left else []
        return f"[changed: {' and '.join(words)}]" if words else ""


class _Moved(NamedTuple):
    """A path at which something else is than before."""

    path: str
    was: Seen | None
    now: Seen | None
    then: Content | None = None
    """What it held, where that was read."""


def traces(folder: Folder, contents: Contents, before: Look, until: float, stop: threading.Event) -> Traces:
    """What became of a workspace since ``before``. Blocks on the disk; raises ``NotScanned``.

    Contents are put into the object store by ``until`` or, what is needed most, within the same time again.
    """
    patience = until - time.monotonic()
    after = look(folder.root, until, stop, before)
    moved = sorted(_moved(folder, contents, before, after), key=lambda each: each.path)
    more = max(0, len(moved) - MOST_LISTED)
    moved = moved[:MOST_LISTED]
    _read(folder, contents, moved, until, stop)
    later = time.monotonic() + patience
    kept = _keep(folder, contents, [each.then for each in moved], later, stop)
    left = [contents.of(each.path, each.now) for each in moved if each.now is not None]
    kept |= _keep(folder, contents, left, until, stop)
    found = [change for each in moved for change in _changes(each, contents)]
    sizes = (
        Sizes(_size(each.was), _size(each.now), not change.before or change.before in kept)
        for change, each in found
    )
    return Traces(tuple(change for change, _ in found), tuple(sizes), "; ".join(_unseen(after, more)), more)


def _moved(folder: Folder, contents: Contents, before: Look, after: Look) -> Iterator[_Moved]:
    for path, was in before.paths.items():
        now = after.paths.get(path)
        if was == now:
            continue
        if now is None and not after.could_see(path):
            # It may be there and be ignored by now: then it is looked at all the same.
            try:
                now = seen_at(folder.root, path)
            except OSError:
                continue
        if (now is None or was.differs(now)) and not is_secret(folder.root / path):
            yield _Moved(path, was, now, contents.of(path, was))
    for path, now in after.paths.items():
        # What was ignored before, or lay in a folder that could not be read, may have been there.
        if path not in before.paths and before.could_see(path) and not is_secret(folder.root / path):
            yield _Moved(path, None, now)


def _read(
    folder: Folder, contents: Contents, moved: Sequence[_Moved], until: float, stop: threading.Event
) -> None:
    """Read what is there now, the small files first, while there is time."""
    files = [(each.path, each.now) for each in moved if each.now is not None and not each.now.folder]
    for path, now in sorted(files, key=lambda each: each[1].size):
        if stop.is_set() or time.monotonic() > until:
            return
        if contents.of(path, now) is None:
            contents.read(folder, path, now, until, stop)


def _keep(
    folder: Folder, contents: Contents, held: Sequence[Content | None], until: float, stop: threading.Event
) -> frozenset[str]:
    """Put contents into the object store while there is time; the digests of those that are there."""
    kept = {FOLDER}
    for content in held:
        if stop.is_set() or time.monotonic() > until:
            break
        if content is not None and content.digest not in kept and contents.keep(folder, content):
            kept.add(content.digest)
    return frozenset(kept)


def _changes(moved: _Moved, contents: Contents) -> Iterator[tuple[FileChange, _Moved]]:
    """What is listed of a path: nothing where only its times are others, two where a folder is a file now."""
    path, was, now, content = moved
    if was is not None and now is not None and was.folder is not now.folder:
        yield from _changes(moved._replace(now=None), contents)
        yield from _changes(moved._replace(was=None, then=None), contents)
        return
    then = _digest(was, content)
    left = _digest(now, contents.of(path, now) if now is not None else None)
    if was is None and now is not None:
        kind, after = (FOLDER, "") if now.folder else ("created", left)
        yield FileChange(path, kind, "", after, None, now.mode), moved
    elif was is not None and now is None:
        yield FileChange(path, "removed", "" if was.folder else then, "", was.mode), moved
    elif was is not None and now is not None:
        if then == UNKNOWN and _only_permissions(was, now):
            then = left
        if then == UNKNOWN or (then, was.mode) != (left, now.mode):
            yield FileChange(path, "changed", then, left, was.mode, now.mode), moved


def _digest(seen: Seen | None, content: Content | None) -> str:
    if seen is None:
        return ""
    if seen.folder:
        return FOLDER
    return content.digest if content is not None else UNKNOWN


def _only_permissions(was: Seen, now: Seen) -> bool:
    """Whether other permissions are the whole difference, as far as a look can tell."""
    same = was._replace(mode=now.mode, changed=now.changed) == now
    return same and was.mode != now.mode and stat.S_IFMT(was.mode) == stat.S_IFMT(now.mode)


def _size(seen: Seen | None) -> int | None:
    return None if seen is None or seen.folder else seen.size


def _unseen(after: Look, more: int) -> Iterator[str]:
    if more:
        yield f"{more:,} more changes are not listed"
    if after.closed:
        yield f"can't be read and was not scanned: {_places(after.closed)}"
    if after.foreign:
        yield f"on another file system and not scanned: {_places(after.foreign)}"


def _places(paths: Sequence[str]) -> str:
    shown = ", ".join(f"{one_line(path, 60)}/" for path in paths[:3])
    return f"{shown} and {len(paths) - 3} more" if len(paths) > 3 else shown


def _named(change: FileChange) -> str:
    name = one_line(change.path, 120)
    if change.state_after.folder or change.state_before.folder:
        name += "/"
    match change.kind:
        case "removed":
            return f"{name} (removed)"
        case "created" | "folder":
            return f"{name} (new)"
        case _:
            return name
