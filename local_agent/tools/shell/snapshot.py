"""A quick look at all files of a workspace that are not ignored: what they are, not what they hold."""

from __future__ import annotations

import errno
import os
import stat
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from local_agent.config.secrets import is_secret
from local_agent.workspace.beneath import folder_beneath
from local_agent.workspace.ignore import (
    AGENT_IGNORE,
    FILES,
    VERSION_CONTROL,
    Rules,
    ignored,
    rules_above,
    rules_of,
)
from local_agent.workspace.walk import MACHINE

MOST_PATHS = 50_000
_HEED_EVERY = 256
"""Names of one folder after which time and a stop are looked at."""


class Seen(NamedTuple):
    """What is at a path, without its content. Two that are equal are the same file, unchanged."""

    mode: int
    """``st_mode``."""
    size: int
    modified: int
    """``st_mtime_ns``, which anybody may set."""
    changed: int
    """``st_ctime_ns``, which follows every change, and only the system's clock can falsify."""
    inode: int

    @classmethod
    def of(cls, status: os.stat_result) -> Seen:
        """From what the system says."""
        return cls(status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

    @property
    def file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def folder(self) -> bool:
        """Whether it is a folder, which changes with every name in it: only its mode counts."""
        return stat.S_ISDIR(self.mode)

    @property
    def link(self) -> bool:
        """Whether it is a symbolic link."""
        return stat.S_ISLNK(self.mode)

    def differs(self, other: Seen) -> bool:
        """Whether something may have happened to it in between."""
        return self.mode != other.mode if self.folder and other.folder else self != other


class NotScanned(Exception):
    """A look was given up; ``str()`` is the reason, without a full stop."""


class Ignoring(NamedTuple):
    """What is left out in a folder."""

    rules: tuple[Rules, ...] = ()
    """All, from the least to the most specific."""
    hiding: tuple[Rules, ...] = ()
    """Of these the ``.agentignore`` files, from which no other pattern brings anything back."""

    def leaves_out(self, path: str, folder: bool) -> bool:
        """Whether a path in that folder is left out."""
        return ignored(path, folder, self.rules) or (bool(self.hiding) and ignored(path, folder, self.hiding))


@dataclass(slots=True)
class Look:
    """What lay in a folder at one moment.

    Left out are ignored files, version control, pipes, sockets, devices, folders with secrets, and what lies
    on another file system: a network that hangs there must hold up nothing.
    """

    paths: dict[str, Seen] = field(default_factory=dict)
    """By the path from the root, of files, folders and links. Bytes that are no UTF-8 as ``os.fsdecode``."""
    listed: dict[str, Ignoring] = field(default_factory=dict)
    """The folders that were looked into; the root is empty."""
    closed: list[str] = field(default_factory=list)
    """The folders that could not be looked into."""
    foreign: list[str] = field(default_factory=list)
    """The folders on another file system."""
    ignore_files: dict[str, tuple[Seen, Rules | None]] = field(default_factory=dict)
    """What each ignore file was, and what it said."""

    def could_see(self, path: str) -> bool:
        """Whether a path would have been seen, had it been there."""
        above, _, name = path.rpartition("/")
        while above not in self.listed:
            if not above or above in self.paths:
                return above in self.paths and not self.paths[above].folder
            above, _, name = above.rpartition("/")
        inside, place = self.listed[above], f"{above}/{name}" if above else name
        return not inside.leaves_out(place, False) and not inside.leaves_out(place, True)


def look(root: Path, until: float, stop: threading.Event, before: Look | None = None) -> Look:
    """Look at everything below ``root``. What ``before`` has decided by the same rules stays decided.

    ``until`` is a time of ``time.monotonic``. Raises ``NotScanned`` when time or ``MOST_PATHS`` run out, the
    stop is set, or the root is a folder no more; below a root that is gone nothing is.
    """
    known, found = before or Look(), Look()
    device = _device(root)
    if device is None:
        found.listed[""] = known.listed.get("", Ignoring())
        return found
    skipped = MACHINE if root == Path("/") else frozenset[str]()
    waiting = deque([("", Ignoring(tuple(rules_above(root))))])
    while waiting:
        place, above = waiting.popleft()
        try:
            inside = _listed(root, place, device, until, stop)
        except _OtherSystem:
            found.foreign.append(place)
            continue
        except OSError:
            found.closed.append(place)
            continue
        lead = f"{place}/" if place else ""
        ignoring = _ignoring(root, lead, above, inside, known, found)
        decided = known.paths if known.listed.get(place) == ignoring else {}
        for name, seen in inside.items():
            path, folder = lead + name, seen.folder
            same = decided.get(path)
            new = same is None or same.folder is not folder
            if new and (path in skipped or _left_out(root, path, folder, ignoring)):
                continue
            found.paths[path] = seen
            if folder:
                waiting.append((path, ignoring))
        found.listed[place] = ignoring
        if len(found.paths) > MOST_PATHS:
            raise NotScanned(f"there are more than {MOST_PATHS:,} files and folders")
    return found


def seen_at(root: Path, path: str) -> Seen | None:
    """What is at one path, no link followed on the way; None where nothing is, raises ``OSError`` else."""
    *above, name = path.split("/")
    try:
        parent = folder_beneath(root, above)
        try:
            return Seen.of(os.stat(name, dir_fd=parent, follow_symlinks=False))
        finally:
            os.close(parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def _device(root: Path) -> int | None:
    """The file system that a folder is on; None when nothing is there."""
    try:
        os.close(folder_beneath(root, ()))
        return os.lstat(root).st_dev
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NotScanned(f"the workspace can't be looked into: {error.strerror}") from error


class _OtherSystem(Exception):
    """A folder is on another file system."""


def _listed(root: Path, place: str, device: int, until: float, stop: threading.Event) -> Mapping[str, Seen]:
    """The files, folders and links of a folder; raises ``OSError``."""
    inside: dict[str, Seen] = {}
    _heed(until, stop)
    descriptor = folder_beneath(root, place.split("/") if place else ())
    try:
        if os.fstat(descriptor).st_dev != device:
            raise _OtherSystem
        with os.scandir(descriptor) as entries:
            for number, entry in enumerate(entries, 1):
                if number % _HEED_EVERY == 0:
                    _heed(until, stop)
                    if number > MOST_PATHS:
                        break
                with suppress(FileNotFoundError):
                    seen = Seen.of(entry.stat(follow_symlinks=False))
                    if seen.file or seen.folder or seen.link:
                        inside[entry.name] = seen
    finally:
        os.close(descriptor)
    return inside


def _heed(until: float, stop: threading.Event) -> None:
    if stop.is_set():
        raise NotScanned("it was stopped")
    if time.monotonic() > until:
        raise NotScanned("that took too long")


def _left_out(root: Path, path: str, folder: bool, ignoring: Ignoring) -> bool:
    own = folder and (path.rpartition("/")[2] in VERSION_CONTROL or is_secret(root / path))
    return own or ignoring.leaves_out(path, folder)


def _ignoring(
    root: Path, lead: str, above: Ignoring, inside: Mapping[str, Seen], known: Look, found: Look
) -> Ignoring:
    """What counts in a folder. An ignore file that is as it was is not read again."""
    rules, hiding = list(above.rules), list(above.hiding)
    for name in FILES:
        if (seen := inside.get(name)) is None:
            continue
        was, said = known.ignore_files.get(lead + name, (None, None))
        if was != seen or seen.link:
            said = rules_of(root / lead / name, lead)
        found.ignore_files[lead + name] = seen, said
        if said is not None:
            rules.append(said)
            hiding += [said] if name == AGENT_IGNORE else []
    return Ignoring(tuple(rules), tuple(hiding))
