"""What a path holds now: looked at beneath descriptors, no link followed on the way."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from local_agent.domain.restoring import Barred, above
from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER, FileState
from local_agent.objects.store import digest_of
from local_agent.tools.changing.disk import beneath, link_content
from local_agent.tools.folder import Folder, Located

LINK = b"link to "
"""What stands before a link's target where its content is meant."""
MOST_BYTES = 512 * 1024 * 1024
"""Of a file that is read to see what it holds."""
_PIECE = 1 << 20
_NO_FOLDER = (errno.ENOTDIR, errno.ELOOP)


class NoFile(Exception):
    """What stands there can't be looked into; ``str()`` says what it is."""


def look(folder: Folder, path: str) -> FileState | Barred:
    """What a path of the ledger holds; ``Barred`` where it must stay as it is, whatever it holds."""
    located = place_of(folder, path)
    if isinstance(located, Barred):
        return located
    if reason := folder.kept_back(located):
        return _from_tools(reason)
    try:
        with folder.parent_of(located) as (parent, name):
            state = state_at(parent, name)
            spelled = _spelled(parent, name) if state.digest else name
    except FileNotFoundError:
        return FileState()
    except NoFile as what:
        return Barred(str(what))
    except OSError as error:
        if error.errno in _NO_FOLDER:
            return _blocked(folder, path)
        return Barred(f"it can't be read: {(error.strerror or type(error).__name__).lower()}")
    if state.folder and (reason := folder.kept_back(located, folder=True)):
        return _from_tools(reason)
    if spelled != name:
        other = f"{path[: len(path) - len(name)]}{spelled}"
        return Barred(f"its name is spelled {one_line(spelled, 60)} now", other)
    return state


def place_of(folder: Folder, path: str) -> Located | Barred:
    """Where a path of the ledger is: relative to the workspace, or absolute; links were resolved before."""
    if not path or "\0" in path or ".." in path.split("/") or os.path.normpath(path) != path:
        return Barred("no file can have that path")
    absolute = folder.root / path
    if folder.root.is_relative_to(absolute):
        return Barred("it is the workspace, or holds it")
    return beneath(folder, absolute)


def state_at(parent: int, name: str) -> FileState:
    """What a folder holds under a name. Raises ``OSError``, and ``NoFile`` for what can't be looked into."""
    try:
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return FileState()
    mode = status.st_mode
    if stat.S_ISDIR(mode):
        return FileState(FOLDER, mode)
    if stat.S_ISLNK(mode):
        return FileState(digest_of(link_content(parent, name)), mode)
    if not stat.S_ISREG(mode):
        raise NoFile("it is a pipe, a socket or a device now")
    if status.st_size > MOST_BYTES:
        raise NoFile(f"it is too large to be compared: {size_words(status.st_size)}")
    return _file_at(parent, name)


def absent_above(folder: Folder, paths: Iterable[str]) -> set[str]:
    """The folders above some paths that are not there."""
    seen: dict[str, bool] = {}
    for each in {one for path in paths for one in above(path)}:
        seen[each] = look(folder, each) == FileState()
    return {path for path, absent in seen.items() if absent}


def shared_among(folder: Folder, folders: Iterable[str], known: Iterable[str]) -> set[str]:
    """Those of some folders in which something lies that is not among the known paths."""
    names = set(known)
    return {path for path in folders if not names.issuperset(_inside(folder, path))}


def _from_tools(reason: str) -> Barred:
    # What a model should do instead stands behind the comma.
    return Barred(f"it is kept from tools: {reason.partition(',')[0]}")


def _inside(folder: Folder, path: str) -> set[str]:
    located = place_of(folder, path)
    if isinstance(located, Barred):
        return set()
    try:
        descriptor = folder.open_beneath(located, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return set()
    try:
        return {f"{path}/{name}" for name in os.listdir(descriptor)}
    finally:
        os.close(descriptor)


def _file_at(parent: int, name: str) -> FileState:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        digest = hashlib.sha256()
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
        return FileState(digest.hexdigest(), os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)


def _spelled(parent: int, name: str) -> str:
    """The name as the disk spells it, where capitals count for nothing there."""
    other = name.swapcase()
    with suppress(OSError):
        same = other != name and os.path.samestat(
            os.stat(name, dir_fd=parent, follow_symlinks=False),
            os.stat(other, dir_fd=parent, follow_symlinks=False),
        )
        names = os.listdir(parent) if same else [name]
        if name not in names:
            return next((each for each in names if each.casefold() == name.casefold()), name)
    return name


def _blocked(folder: Folder, path: str) -> Barred:
    """What above a path is no folder."""
    for each in reversed([*above(path)]):
        located = place_of(folder, each)
        if isinstance(located, Barred):
            break
        try:
            with folder.parent_of(located) as (parent, name):
                mode = os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
        except OSError:
            break
        if not stat.S_ISDIR(mode):
            what = "a link" if stat.S_ISLNK(mode) else "a file"
            return Barred(f"{one_line(Path(each).name, 60)} above it is {what} now", each)
    return Barred("its folder can't be reached")
