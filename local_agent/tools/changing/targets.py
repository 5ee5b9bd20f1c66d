"""Which paths a tool may change at all, and what it must have read before."""

from __future__ import annotations

import os
import stat

from local_agent.domain.tools import ToolFailed
from local_agent.objects.store import digest_of
from local_agent.tools.changing.disk import Held, held
from local_agent.tools.folder import Folder, Located
from local_agent.tools.paths import similar
from local_agent.workspace.ignore import AGENT_IGNORE

_WRITE_BITS = 0o222


def target(path: object, folder: Folder, *, through: bool = True, is_folder: bool = False) -> Located:
    """Where a path leads that is to be changed; ``through=False`` names a link itself.

    Raises ``ToolFailed`` for what is kept from tools, and for the workspace and what holds it.
    """
    located = folder.locate(str(path), through=through)
    folder.check(located, folder=is_folder)
    if folder.root.is_relative_to(located.absolute):
        what = "is the workspace itself" if located.absolute == folder.root else "holds the workspace"
        raise ToolFailed(f"{located.shown} {what}: give a path inside it.")
    if reason := reserved(located.absolute.name):
        raise ToolFailed(f"{located.shown} {reason}.")
    return located


def file_target(path: object, folder: Folder) -> Located:
    """The same for a path that is to be a file."""
    if str(path).endswith("/"):
        raise ToolFailed("The path ends in a slash, so it names a folder: leave it out, or use mkdir.")
    return target(path, folder)


def reserved(name: str) -> str:
    """Why no tool may make, change, move or remove a file of this name; empty when one may."""
    if name.casefold() == AGENT_IGNORE:
        return "says what is kept from tools: only the person changes it"
    return ""


def known_file(folder: Folder, located: Located) -> Held:
    """A file as it is, which this session has read and which nobody has changed since.

    Raises ``ToolFailed`` that says what to do first.
    """
    found = held(folder, located)
    if found is None:
        close = similar(folder, located)
        meant = f" Close to it: {', '.join(close)}." if close else ""
        raise ToolFailed(f"There is no {located.shown}.{meant} To make a new file, use write.")
    require_known(folder, located, found)
    return found


def require_known(folder: Folder, located: Located, found: Held) -> None:
    """Raises ``ToolFailed`` unless a file was read as it is, and may be written."""
    known = folder.known(located)
    if known is None:
        raise ToolFailed(f"{located.shown} was not read in this session: read it first.")
    if known != digest_of(found.data):
        raise ToolFailed(f"{located.shown} has changed since it was read: read it again.")
    if not may_write(folder, located, found.status):
        mode = stat.S_IMODE(found.status.st_mode)
        raise ToolFailed(
            f"{located.shown} is read-only (mode {mode:04o}). Ask the person to make it writable."
        )


def may_write(folder: Folder, located: Located, status: os.stat_result) -> bool:
    """Whether a file's mode lets it be written. A rename would go past that, and root goes past anything."""
    if not status.st_mode & _WRITE_BITS:
        return False
    with folder.parent_of(located) as (parent, name):
        return os.access(name, os.W_OK, dir_fd=parent)
