"""``copy``: a file, or a folder with all in it; it is there whole or not at all."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import BinaryIO

from local_agent.domain.tools import Action, Effect, ResultStatus, ToolFailed, ToolResult, ToolSpec
from local_agent.tools.changing.changes import made_folders
from local_agent.tools.changing.disk import (
    RIGHTS,
    beneath,
    made,
    present,
    put_new,
    scratch_name,
    sync,
    void,
    words,
)
from local_agent.tools.changing.places import PARAMETERS, Places, know_copies, places, previewed, still
from local_agent.tools.changing.tool import STOPPED, ChangingTool, Preview
from local_agent.tools.changing.trees import Leaf, come, keep_tree, moved, words_for
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import open_file

SPEC = ToolSpec(
    "copy",
    "Copy a file or folder. Never overwrites.",
    PARAMETERS,
    Effect.EFFECTFUL,
    example={"path": "src/a.py", "to": "src/b.py"},
)
_VERB = "copy"
_PIECE = 1 << 20


class _Stopped(Exception):
    """The person wants an end."""


def _preview(arguments: Mapping[str, object], folder: Folder) -> Preview[Places]:
    found = places(arguments, folder, _VERB, through=True)
    source, target = str(found.source.absolute), str(found.target.absolute)
    state = found.tree[0].state
    expected, intended = {source: state, target: ""}, {source: state, target: state}
    return previewed(found, Action.WRITE, "copy", expected, intended)


def _carry_out(found: Places, folder: Folder, ended: threading.Event) -> ToolResult:
    if not still(found, folder, _VERB):
        raise void(found.source)
    keep_tree(folder, found.tree, ended, durable=False)
    try:
        with made(folder, found.folders) as new, _built(found, folder, ended) as (parent, scratch):
            name = found.target.absolute.name
            if not found.tree[0].folder:
                put_new(parent, scratch, parent, name)
            elif present(parent, name):
                raise FileExistsError(name)
            else:
                os.rename(scratch, name, src_dir_fd=parent, dst_dir_fd=parent)
            sync(parent)
    except _Stopped:
        return STOPPED
    except FileExistsError as error:
        raise void(found.target) from error
    except OSError as error:
        raise ToolFailed(words(error, found.target)) from error
    know_copies(found, folder)
    changes = made_folders(folder, new)
    changes += come(found.tree, found.source, found.target, folder)
    said = f"Copied {found.source.shown} to {found.target.shown}."
    return ToolResult(ResultStatus.OK, said, words_for(found.tree), changes=tuple(changes))


@contextmanager
def _built(found: Places, folder: Folder, ended: threading.Event) -> Iterator[tuple[int, str]]:
    """The whole copy under a temporary name beside its place; what is not put there is taken away again."""
    with folder.parent_of(found.target) as (parent, _), scratch_name(parent) as scratch:
        top = beneath(folder, found.target.absolute.with_name(scratch))
        pairs = [(leaf, moved(leaf.located, found.source, top, folder)) for leaf in found.tree]
        try:
            for leaf, place in pairs:
                if ended.is_set():
                    raise _Stopped
                _copy(folder, leaf, place)
            # A folder that can't be written gets its mode once it is filled.
            for leaf, place in reversed(pairs):
                if leaf.folder:
                    _set_mode(folder, place, leaf.mode)
            yield parent, scratch
        except BaseException:
            for leaf, place in pairs:
                if leaf.folder:
                    _set_mode(folder, place, stat.S_IRWXU)
            for _, place in reversed(pairs):
                _take_away(folder, place)
            raise


def _copy(folder: Folder, leaf: Leaf, place: Located) -> None:
    with folder.parent_of(place) as (parent, name):
        if leaf.folder:
            os.mkdir(name, stat.S_IRWXU, dir_fd=parent)
        elif leaf.link:
            with folder.parent_of(leaf.located) as (above, link):
                os.symlink(os.readlink(link, dir_fd=above), name, dir_fd=parent)
        else:
            _copy_file(folder, leaf, parent, name)


def _copy_file(folder: Folder, leaf: Leaf, parent: int, name: str) -> None:
    source, _ = open_file(folder, leaf.located)
    digest = hashlib.sha256()
    with open(source, "rb", buffering=0) as reading, _new_file(parent, name) as writing:
        while piece := reading.read(_PIECE):
            digest.update(piece)
            writing.write(piece)
        writing.flush()
        os.fchmod(writing.fileno(), leaf.mode & RIGHTS)
        os.fsync(writing.fileno())
    if digest.hexdigest() != leaf.state:
        raise void(leaf.located)


def _new_file(parent: int, name: str) -> BinaryIO:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return open(os.open(name, flags, 0o600, dir_fd=parent), "wb")


def _set_mode(folder: Folder, place: Located, mode: int) -> None:
    with suppress(OSError):
        descriptor = folder.open_beneath(place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fchmod(descriptor, mode & RIGHTS)
            sync(descriptor)
        finally:
            os.close(descriptor)


def _take_away(folder: Folder, place: Located) -> None:
    with suppress(OSError), folder.parent_of(place) as (parent, name):
        if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            os.rmdir(name, dir_fd=parent)
        else:
            os.unlink(name, dir_fd=parent)


COPY = ChangingTool(SPEC, _preview, _carry_out)
