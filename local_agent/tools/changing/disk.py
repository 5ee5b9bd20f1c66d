"""What the changing tools do on disk: beneath descriptors, without following a link, whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from local_agent.domain.sizes import size_words
from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER, ToolFailed
from local_agent.objects.store import digest_of
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import open_file

MOST_TEXT = 8_000_000
"""Bytes of a file that is changed in part."""
SCRATCH = ".local-agent-"
"""What the names of temporary files begin with; one is left only when the process was killed."""
RIGHTS = 0o777

_PIECE = 1 << 20
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_GONE = (errno.ELOOP, errno.ENOTDIR, errno.ENOENT)
_NO_HARD_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EXDEV)


class Held(NamedTuple):
    """A regular file's content."""

    data: bytes
    status: os.stat_result


def held(folder: Folder, located: Located) -> Held | None:
    """What a file holds; None when nothing is there. Raises ``ToolFailed`` for what is no file."""
    if not state_of(folder, located, hashed=False):
        return None
    descriptor, status = open_file(folder, located)
    with open(descriptor, "rb", buffering=0) as file:
        data = b""
        if status.st_size <= MOST_TEXT:
            data = read_all(file.fileno(), MOST_TEXT + 1)
        if max(len(data), status.st_size) > MOST_TEXT:
            size, most = size_words(max(len(data), status.st_size)), size_words(MOST_TEXT)
            raise ToolFailed(f"{located.shown} is too large to be changed here: {size} of at most {most}.")
    return Held(data, status)


def state_of(folder: Folder, located: Located, *, hashed: bool = True) -> str:
    """The SHA-256 of a file's content, or of where a link leads; ``FOLDER``; empty when nothing is there.

    Raises ``ToolFailed`` for pipes and devices. Without ``hashed`` a file is any text that is not empty.
    """
    try:
        with folder.parent_of(located) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                return FOLDER
            if stat.S_ISLNK(status.st_mode):
                return digest_of(link_content(parent, name))
            if not stat.S_ISREG(status.st_mode):
                raise ToolFailed(f"{located.shown} is a pipe, a socket or a device, not a file.")
            return _digest_at(parent, name) if hashed else "file"
    except FileNotFoundError:
        return ""
    except NotADirectoryError as error:
        raise ToolFailed(f"{located.shown} can't be there: a part of its path is a file.") from error
    except OSError as error:
        raise ToolFailed(words(error, located)) from error


def link_content(parent: int | None, name: str) -> bytes:
    """What stands for the content of a link, which its state is the digest of; raises ``OSError``."""
    return b"link to " + os.fsencode(os.readlink(name, dir_fd=parent))


def beneath(folder: Folder, absolute: Path) -> Located:
    """A path that is resolved already."""
    outside = not absolute.is_relative_to(folder.root)
    relative = str(absolute) if outside else absolute.relative_to(folder.root).as_posix()
    return Located(relative, absolute, relative, outside)


def missing_folders(folder: Folder, located: Located) -> tuple[Located, ...]:
    """The folders above it that are not there, the topmost first; raises ``ToolFailed`` for a file there."""
    missing: list[Located] = []
    for absolute in located.absolute.parents:
        above = beneath(folder, absolute)
        if absolute == folder.root or state_of(folder, above, hashed=False) == FOLDER:
            break
        missing.append(above)
    return tuple(reversed(missing))


@contextmanager
def made(folder: Folder, folders: Sequence[Located]) -> Iterator[Sequence[Located]]:
    """Make folders, the topmost first, and give those that were not there already.

    What fails inside takes the empty ones away again.
    """
    done: list[Located] = []
    try:
        for each in folders:
            if make_folder(folder, each):
                done.append(each)
        yield done
    except BaseException:
        for each in reversed(done):
            with suppress(OSError), folder.parent_of(each) as (parent, name):
                os.rmdir(name, dir_fd=parent)
        raise


def make_folder(folder: Folder, located: Located) -> bool:
    """Make one folder; False when one is there already. Raises ``OSError``."""
    with folder.parent_of(located) as (parent, name):
        try:
            os.mkdir(name, dir_fd=parent)
        except FileExistsError:
            if stat.S_ISDIR(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
                return False
            raise
        sync(parent)
        return True


@contextmanager
def staged(
    folder: Folder, located: Located, data: bytes, before: str, like: os.stat_result | None
) -> Iterator[Callable[[], None]]:
    """Write a file beside the one that it is to be; the function puts it there in one step.

    ``before`` is the state that must be there still; ``like`` has the mode and owner of the new one. When the
    function was not called, or failed, nothing is left. Both raise ``OSError`` and ``ToolFailed``.
    """
    with folder.parent_of(located) as (parent, name), scratch_name(parent) as scratch:
        _write(parent, scratch, data, like)
        yield lambda: _put(parent, scratch, name, before, located)


@contextmanager
def scratch_name(parent: int) -> Iterator[str]:
    """A name for a temporary file, which is gone at the end."""
    from secrets import token_hex  # OpenSSL, which a start does not need

    scratch = f"{SCRATCH}{token_hex(6)}"
    try:
        yield scratch
    finally:
        with suppress(OSError):
            os.unlink(scratch, dir_fd=parent)


def put_new(source: int, scratch: str, parent: int, name: str) -> None:
    """Rename a file, never over another: ``FileExistsError``."""
    try:
        os.link(scratch, name, src_dir_fd=source, dst_dir_fd=parent, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_HARD_LINKS:
            raise
        # Where a disk has no second names, a look comes before the rename.
        if present(parent, name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), name) from error
        os.rename(scratch, name, src_dir_fd=source, dst_dir_fd=parent)
        return
    try:
        os.unlink(scratch, dir_fd=source)
    except OSError:
        os.unlink(name, dir_fd=parent)
        raise


def present(parent: int, name: str) -> bool:
    """Whether a folder holds a name, be it a link that leads nowhere."""
    try:
        os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def sync(descriptor: int) -> None:
    """Make what was done to a folder survive a power cut, where its disk can promise that."""
    with suppress(OSError):
        os.fsync(descriptor)


def void(located: Located) -> ToolFailed:
    """What is said when a preview no longer holds."""
    return ToolFailed(
        f"{located.shown} changed after this was looked at, so the answer is void and it was left alone. "
        "Read it again."
    )


def words(error: OSError, located: Located) -> str:
    """One sentence about a path that can't be changed."""
    shown = located.shown
    if error.errno in _FULL:
        return f"There is no room on the disk: {shown} was not written."
    if error.errno == errno.EROFS:
        return f"{shown} lies on a disk that can only be read."
    if error.errno in (errno.EACCES, errno.EPERM):
        return f"{shown} can't be changed: no permission to write it or its folder. Ask the person."
    if error.errno in _GONE:
        return f"{shown} can't be reached any more: its folder was moved or replaced meanwhile."
    if error.errno == errno.ENAMETOOLONG:
        return f"{one_line(located.relative, 60)} can't be there: a name in it is too long (255 bytes)."
    if error.errno == errno.EEXIST:
        return f"{shown} is there already."
    if error.errno == errno.EXDEV:
        return f"{shown} lies on another disk: copy it there, then remove it here."
    return f"{shown} can't be changed: {error.strerror or type(error).__name__}."


def _write(parent: int, scratch: str, data: bytes, like: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(scratch, flags, 0o666 if like is None else 0o600, dir_fd=parent)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if like is not None:
            own = os.fstat(descriptor)
            if (own.st_uid, own.st_gid) != (like.st_uid, like.st_gid):
                with suppress(PermissionError):
                    os.fchown(descriptor, like.st_uid, like.st_gid)
            os.fchmod(descriptor, like.st_mode & RIGHTS)
        os.fsync(descriptor)


def _put(parent: int, scratch: str, name: str, before: str, located: Located) -> None:
    try:
        if not before:
            put_new(parent, scratch, parent, name)
        elif _digest_at(parent, name) != before:
            raise void(located)
        else:
            os.rename(scratch, name, src_dir_fd=parent, dst_dir_fd=parent)
    except (FileExistsError, FileNotFoundError) as error:
        raise void(located) from error
    except OSError as error:
        # What was a file is a link now, or a folder.
        if error.errno in (errno.ELOOP, errno.EISDIR, errno.ENOTDIR):
            raise void(located) from error
        raise
    sync(parent)


def _digest_at(parent: int, name: str) -> str:
    """SHA-256 of a regular file; raises ``OSError``, of a link ELOOP."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=parent)
    try:
        digest = hashlib.sha256()
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def read_all(descriptor: int, most: int) -> bytes:
    """The bytes of an open file from where it stands, at most so many; raises ``OSError``."""
    pieces = []
    while most > 0 and (piece := os.read(descriptor, min(most, _PIECE))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)
