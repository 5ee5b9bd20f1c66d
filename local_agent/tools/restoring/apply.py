"""Puts one path back: it is whole what it was, or whole what it is to be."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from local_agent.domain.restoring import Barred, FileStep, Reached, reached
from local_agent.domain.tools import FileState
from local_agent.objects.store import ObjectMissing, Objects
from local_agent.tools.changing.disk import put_new, sync
from local_agent.tools.changing.keeping import NOT_WANTED, unkept
from local_agent.tools.folder import Folder, Located
from local_agent.tools.restoring.look import LINK, look, place_of, state_at
from local_agent.tools.restoring.order import narrow

CHANGED = "changed by somebody else since"
FILLED = "something else lies in it"
_REASONS = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "no room on the disk"),
    **dict.fromkeys((errno.EACCES, errno.EPERM), "no permission"),
    **dict.fromkeys((errno.ENOENT, errno.ENOTDIR, errno.ELOOP), "its folder is not there"),
    **dict.fromkeys((errno.EXDEV, errno.EBUSY), "another disk begins there"),
    errno.EROFS: "its disk can only be read",
    errno.ENAMETOOLONG: "its name is too long there",
}
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR)


class Kept(Exception):
    """Why a path stays as somebody else has left it."""


class NotRestored(Exception):
    """Why a path could not be put back; it holds what it held."""


def take(folder: Folder, step: FileStep, steps: Mapping[str, FileStep], scratch: str) -> None:
    """Take one of these steps; nothing is done where it was taken before. ``scratch`` names a temporary file.

    What the path holds is kept first. Raises ``Kept`` and ``NotRestored``.
    """
    try:
        _take(folder, step, steps, scratch)
    except OSError as error:
        if error.errno in _TAKEN:
            raise Kept(FILLED if step.now.folder else CHANGED) from error
        reason = _REASONS.get(error.errno or 0, (error.strerror or type(error).__name__).lower())
        raise NotRestored(reason) from error


def close_folder(folder: Folder, step: FileStep) -> None:
    """Take rights that a new folder must not give its owner, once nothing more is put into it."""
    located = place_of(folder, step.path)
    if isinstance(located, Located) and step.then.mode is not None:
        with suppress(OSError), folder.parent_of(located) as (parent, name):
            _set_mode(parent, name, step.then.mode)


def _take(folder: Folder, step: FileStep, steps: Mapping[str, FileStep], scratch: str) -> None:
    located = place_of(folder, step.path)
    if isinstance(located, Barred):
        raise NotRestored(located.reason)
    found = look(folder, step.path)
    if isinstance(found, Barred):
        other = steps.get(found.by)
        if other is not None and not step.then.digest:
            return  # Nothing can be there: what the disk finds belongs to the other one.
        if other is None or step.path.startswith(f"{other.path}/"):
            raise NotRestored(found.reason)
        found = _respelled(folder, located, other)
    at = reached(step, found)
    if at is Reached.CONFLICT:
        raise Kept(CHANGED)
    if at is Reached.OPEN:
        data = b""
        if not found.same_content(step.then):
            data = _content(folder.outputs, step.then)
            _keep(folder, located, found)
        with folder.parent_of(located) as (parent, name):
            _Change(parent, name, found, step.then, scratch).carry_out(data)
            sync(parent)
    folder.forget(located)


def _respelled(folder: Folder, located: Located, twin: FileStep) -> FileState:
    """Rename what lies there under a name that the disk takes for the same; what that is."""
    held, other = look(folder, twin.path), place_of(folder, twin.path)
    if isinstance(held, Barred) or isinstance(other, Barred) or reached(twin, held) is not Reached.OPEN:
        raise Kept(CHANGED)
    with folder.parent_of(located) as (parent, name):
        os.rename(other.absolute.name, name, src_dir_fd=parent, dst_dir_fd=parent)
        sync(parent)
    folder.forget(other)
    return held


def _content(outputs: Objects, state: FileState) -> bytes:
    """What is to be written; nothing for a folder and for nothing."""
    if not state.digest or state.folder:
        return b""
    try:
        data = outputs.get(state.digest)
    except ObjectMissing as missing:
        raise NotRestored("what it held then is not kept any more") from missing
    if state.link and not data.startswith(LINK):
        raise NotRestored("what it held then is not kept any more")
    return data


def _keep(folder: Folder, located: Located, found: FileState) -> None:
    """See to it that what is about to go can be put back, unless the person wants no contents kept."""
    reason = unkept(folder, located, found.digest)
    if reason not in ("", NOT_WANTED):
        raise NotRestored(f"what it holds now would be lost: {reason}")


def _set_mode(parent: int, name: str, mode: int) -> None:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        os.fchmod(descriptor, stat.S_IMODE(mode))
        sync(descriptor)
    finally:
        os.close(descriptor)


class _Change(NamedTuple):
    """From what one name of an open folder holds to what it is to hold."""

    parent: int
    name: str
    now: FileState
    then: FileState
    scratch: str

    def carry_out(self, data: bytes) -> None:
        """Do it. Raises ``OSError``, after which all is as it was, and no temporary file is left."""
        try:
            if not self.then.digest:
                self._remove()
            elif self.then.folder:
                self._make_folder()
            elif self.now.same_content(self.then):
                assert self.then.mode is not None  # else there would be nothing to do
                _set_mode(self.parent, self.name, self.then.mode)
            else:
                self._stage(data)
                self._put()
        finally:
            with suppress(OSError):
                os.unlink(self.scratch, dir_fd=self.parent)

    def _remove(self) -> None:
        if self.now.folder:
            os.rmdir(self.name, dir_fd=self.parent)
        else:
            os.unlink(self.name, dir_fd=self.parent)

    def _make_folder(self) -> None:
        aside = bool(self.now.digest) and not self.now.folder
        if aside:
            self._rename(self.name, self.scratch)
        try:
            if not self.now.folder:
                os.mkdir(self.name, dir_fd=self.parent)
        except OSError:
            if aside:
                self._rename(self.scratch, self.name)
            raise
        if self.then.mode is not None:
            # What lies in a new folder comes first: until then its owner may change it.
            more = stat.S_IRWXU if narrow(self.then) and not self.now.folder else 0
            _set_mode(self.parent, self.name, self.then.mode | more)

    def _stage(self, data: bytes) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.scratch, dir_fd=self.parent)
        if self.then.link:
            os.symlink(os.fsdecode(data.removeprefix(LINK)), self.scratch, dir_fd=self.parent)
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = self.then.mode
        first = 0o666 if mode is None else 0o600
        with open(os.open(self.scratch, flags, first, dir_fd=self.parent), "wb") as file:
            file.write(data)
            file.flush()
            self._keep_owner(file.fileno())
            if mode is not None:
                os.fchmod(file.fileno(), stat.S_IMODE(mode))
            os.fsync(file.fileno())

    def _keep_owner(self, descriptor: int) -> None:
        if self.now.digest:
            old, own = os.stat(self.name, dir_fd=self.parent, follow_symlinks=False), os.fstat(descriptor)
            if (old.st_uid, old.st_gid) != (own.st_uid, own.st_gid):
                with suppress(PermissionError):
                    os.fchown(descriptor, old.st_uid, old.st_gid)

    def _put(self) -> None:
        if self.now.folder:
            os.rmdir(self.name, dir_fd=self.parent)
        elif self.now.digest:
            if state_at(self.parent, self.name) != self.now:
                raise Kept(CHANGED)
            self._rename(self.scratch, self.name)
            return
        put_new(self.parent, self.scratch, self.parent, self.name)

    def _rename(self, source: str, target: str) -> None:
        os.rename(source, target, src_dir_fd=self.parent, dst_dir_fd=self.parent)
