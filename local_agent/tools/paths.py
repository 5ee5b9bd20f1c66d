"""What tools say about paths: what is there instead of a file, and what may have been meant."""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed
from local_agent.tools.folder import Folder, Located

_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}
_CLOSE = 3
_LOOKED_AT = 5_000


def aimed(arguments_path: object, folder: Folder, *, is_folder: bool = False) -> Located:
    """Where a path argument leads, if a tool may open it; ``.`` when it was not given."""
    located = folder.locate(str(arguments_path or "."))
    folder.check(located, folder=is_folder or (not located.outside and os.path.isdir(located.absolute)))
    return located


def outside_of(*located: Located) -> tuple[str, ...]:
    """The resolved paths that lie outside the workspace."""
    return tuple(str(each.absolute) for each in located if each.outside)


def open_file(folder: Folder, located: Located) -> tuple[int, os.stat_result]:
    """A descriptor of a regular file; raises ``ToolFailed`` for anything else, and never waits for a pipe."""
    try:
        descriptor = folder.open_beneath(located)
    except OSError as error:
        raise ToolFailed(why_not(folder, located, error)) from error
    status = os.fstat(descriptor)
    if stat.S_ISREG(status.st_mode):
        return descriptor, status
    os.close(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise ToolFailed(f"{located.shown} is a folder: list it with ls.")
    what = _SPECIAL.get(stat.S_IFMT(status.st_mode), "no regular file")
    raise ToolFailed(f"{located.shown} is {what}, not a file.")


def open_folder(folder: Folder, located: Located) -> int:
    """A descriptor of a folder; raises ``ToolFailed`` for anything else."""
    try:
        return folder.open_beneath(located, os.O_RDONLY | os.O_DIRECTORY)
    except NotADirectoryError as error:
        # The same number is given for a file on the way.
        raise ToolFailed(f"{located.shown} is no folder: use read for a file.") from error
    except OSError as error:
        raise ToolFailed(why_not(folder, located, error)) from error


def why_not(folder: Folder, located: Located, error: OSError) -> str:
    """One sentence about a path that can't be opened."""
    if isinstance(error, FileNotFoundError | NotADirectoryError):
        close = similar(folder, located)
        return f"There is no {located.shown}." + (f" Close to it: {', '.join(close)}." if close else "")
    if error.errno == errno.ELOOP:
        return f"{located.shown} was replaced by a link meanwhile, or its links lead in a circle."
    if error.errno in (errno.ENXIO, errno.ENODEV):
        return f"{located.shown} is a socket or a device, not a file."
    if error.errno == errno.ENAMETOOLONG:
        return f"{one_line(located.relative, 60)} can't be there: a name in it is too long."
    return f"{located.shown} can't be read: {error.strerror or type(error).__name__}."


def similar(folder: Folder, located: Located) -> list[str]:
    """Names in the same folder that may have been meant; never one that is kept from tools."""
    if located.outside:
        return []
    from difflib import get_close_matches  # only for what is wrong

    names: dict[str, str] = {}
    with suppress(OSError), folder.parent_of(located) as (descriptor, _), os.scandir(descriptor) as entries:
        for entry, _ in zip(entries, range(_LOOKED_AT), strict=False):
            names[entry.name.lower()] = entry.name
    above = "" if "/" not in located.relative else located.relative.rpartition("/")[0] + "/"
    found = (names[name] for name in get_close_matches(located.absolute.name.lower(), names, 10, 0.6))
    paths = [f"{above}{name}" for name in found if name.isprintable()]
    return [path for path in paths if not _kept_back(folder, path)][:_CLOSE]


def _kept_back(folder: Folder, path: str) -> str:
    try:
        return folder.kept_back(folder.locate(path))
    except ToolFailed as refusal:
        return str(refusal)
