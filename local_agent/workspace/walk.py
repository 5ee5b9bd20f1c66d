"""Walks a folder breadth first, so that what lies near its top is known first and a huge tree stays cheap."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from local_agent.workspace.beneath import folder_beneath
from local_agent.workspace.ignore import FILES, VERSION_CONTROL, Rules, ignored, rules_above, rules_of

MOST_PATHS = 200_000
MOST_SECONDS = 15.0
MACHINE = frozenset({"dev", "proc", "run", "sys"})
"""Folders of ``/`` that hold no files of anybody's."""
TELL_EVERY = 2_000
TICK = 20_000_000
"""Nanoseconds that no file system's clock is coarser than, but for those of another age."""


class Found(NamedTuple):
    """What a walk has seen so far."""

    paths: Sequence[str]
    """Relative to the root; folders end in ``/``. Bytes that are no UTF-8 are as in ``os.fsdecode``."""
    changed: dict[str, int]
    """When each folder that was looked into, and each ignore file, last changed: ``st_mtime_ns``."""
    whole: bool = True
    """False when a bound ended the walk."""
    hidden: int = 0
    """How many were left out because ``hide`` said so; what lies in them is not counted."""


def walk(
    root: Path,
    tell: Callable[[Found], bool] = lambda found: True,
    *,
    most: int = MOST_PATHS,
    seconds: float = MOST_SECONDS,
    below: str = "",
    hide: Callable[[str, bool], bool] = lambda path, folder: False,
) -> Found:
    """All files and folders that are not ignored; links are not followed into folders.

    ``below`` is a folder to begin with, relative to the root and ending in ``/``.

    ``hide`` gets each path, and whether it is a folder, before it is known whether it is ignored.
    ``tell`` is called from time to time with what was found so far and ends the walk by giving False.
    What can't be read is left out.
    """
    end = time.monotonic() + seconds
    paths: list[str] = []
    changed: dict[str, int] = {}
    begun = time.time_ns()
    told = hidden = 0
    waiting: deque[tuple[str, tuple[Rules, ...]]] = deque([(below, tuple(rules_above(root, below)))])
    top = os.path.realpath(root)
    skipped = MACHINE if root == Path("/") else frozenset[str]()
    while waiting:
        folder, rules = waiting.popleft()
        rules, inside = _listed(top, folder, rules, changed)
        for name, is_folder in inside:
            path = folder + name
            if hide(path, is_folder):
                hidden += 1
                continue
            if (is_folder and (name in VERSION_CONTROL or path in skipped)) or ignored(
                path, is_folder, rules
            ):
                continue
            if is_folder:
                path += "/"
                waiting.append((path, rules))
            paths.append(path)
        if len(paths) >= most or time.monotonic() > end:
            return Found(paths[:most], changed, whole=False, hidden=hidden)
        if len(paths) - told >= TELL_EVERY:
            told = len(paths)
            if not tell(Found(paths, changed, whole=False)):
                break
    # What changed just then may change again within the same tick of the file system's clock.
    settled = {name: then if then < begun - TICK else -1 for name, then in changed.items()}
    return Found(paths, settled, whole=not waiting, hidden=hidden)


def still_true(root: Path, found: Found) -> bool:
    """Whether no folder has another list of names, and no ignore file another text, than when it was read."""
    try:
        return all(os.stat(root / folder).st_mtime_ns == then for folder, then in found.changed.items())
    except OSError:
        return False


def _listed(
    top: str, folder: str, rules: tuple[Rules, ...], changed: dict[str, int]
) -> tuple[tuple[Rules, ...], list[tuple[str, bool]]]:
    """The rules within a folder, and its names with whether each is a folder."""
    place = Path(top, folder)
    try:
        descriptor = folder_beneath(top, Path(folder).parts)
    except OSError:
        return rules, []
    try:
        modified = os.fstat(descriptor).st_mtime_ns
        with os.scandir(descriptor) as entries:
            inside = [found for entry in entries if (found := _entry(entry)) is not None]
    except OSError:
        return rules, []
    finally:
        os.close(descriptor)
    changed[folder] = modified
    names = {name for name, _ in inside}
    files = [name for name in FILES if name in names]
    for name in files:
        with suppress(OSError):
            changed[folder + name] = os.stat(place / name).st_mtime_ns
    own = [rules_of(place / name, folder) for name in files]
    return (*rules, *(each for each in own if each is not None)), inside


def _entry(entry: os.DirEntry[str]) -> tuple[str, bool] | None:
    """A name and whether it is a folder to look into; None for what is neither file nor folder."""
    try:
        if entry.is_dir(follow_symlinks=False):
            return entry.name, True
        return (entry.name, False) if entry.is_file() else None
    except OSError:
        return None
