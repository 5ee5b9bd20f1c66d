"""The workspace as tools see it: where a path leads, what may be opened, and what was read of it.

A path is resolved once, when a call is looked at, and everything is opened later along the resolved path
without following a link: what is swapped for a link in between is not followed, it fails.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path, PurePath

from local_agent.config.secrets import is_secret
from local_agent.domain.text import one_line
from local_agent.domain.tools import ToolFailed
from local_agent.objects.store import Objects
from local_agent.workspace.beneath import folder_beneath
from local_agent.workspace.ignore import VERSION_CONTROL, hidden_from_models

PATH_LENGTH = 4_096
LEAST_RESULT = 2 * 1024
MOST_RESULT = 96 * 1024
BYTES_PER_TOKEN = 3.6
SHARE_OF_WINDOW = 0.15

_TOP = Path("/")


@dataclass(frozen=True, slots=True)
class Located:
    """Where a path leads that a model wrote."""

    written: str
    absolute: Path
    """With every link resolved. What it names need not be there."""
    relative: str
    """From the workspace's root, with ``/``; ``.`` is the root. What lies outside is named absolutely."""
    outside: bool

    @property
    def shown(self) -> str:
        """Safe to draw, on one line."""
        return one_line(self.relative)


class Folder:
    """One conversation's view of its workspace. Its methods block on the disk, never on a pipe."""

    def __init__(
        self,
        root: Path,
        outputs: Objects,
        result_bytes: int = LEAST_RESULT,
        *,
        keeps_contents: bool = True,
    ) -> None:
        self.root = Path(os.path.realpath(root))
        self.outputs = outputs
        """Where the whole of an output is kept that was cut, and what files held before they were changed."""
        self.keeps_contents = keeps_contents
        """Whether the person lets contents of files be kept."""
        self.result_bytes = result_bytes
        """How long a result's text may be; follows the context window."""
        self._read: dict[Path, str] = {}

    def locate(self, written: str, *, through: bool = True) -> Located:
        """Where a path leads. ``through=False`` names a link itself where the last part is one.

        Raises ``ToolFailed`` for what can be no path. Whether it may be opened is ``check``'s matter.
        """
        if not written.strip():
            raise ToolFailed('The path is empty. "." is the workspace.')
        if len(written) > PATH_LENGTH:
            raise ToolFailed(f"The path is too long: {len(written):,} characters.")
        if any(ord(char) < 32 or ord(char) == 127 for char in written):
            raise ToolFailed("The path holds a line break or another control character.")
        if written == "~" or written.startswith(("~/", "$HOME", "${HOME}")):
            raise ToolFailed(
                "~ and $HOME mean nothing here: give a path from the workspace, such as src/main.py."
            )
        try:
            absolute = _resolved(self.root / written, through)
        except (OSError, ValueError) as error:
            raise ToolFailed(f"{one_line(written, 200)} can be no path: {_reason(error)}.") from error
        outside = not absolute.is_relative_to(self.root)
        relative = str(absolute) if outside else absolute.relative_to(self.root).as_posix()
        return Located(written, absolute, relative, outside)

    def check(self, located: Located, *, folder: bool = False) -> None:
        """Raise ``ToolFailed`` for what no tool may open: secrets, version control, ``.agentignore``."""
        if reason := self.kept_back(located, folder=folder):
            raise ToolFailed(f"{located.shown} is kept from tools: {reason}.")

    def kept_back(self, located: Located, *, folder: bool = False) -> str:
        """Why no tool may open it; empty when one may."""
        if not VERSION_CONTROL.isdisjoint(name.lower() for name in PurePath(located.relative).parts):
            return "it belongs to version control, use git with bash"
        # The name that was written counts as well: a secret may be a link to a harmless name.
        as_written = PurePath(os.path.normpath(self.root / located.written))
        if is_secret(located.absolute) or is_secret(as_written):
            return "it looks like a secret"
        if located.outside or located.relative == ".":
            return ""
        hidden = hidden_from_models(self.root, located.relative, folder)
        return "an .agentignore hides it" if hidden else ""

    @contextmanager
    def parent_of(self, located: Located) -> Iterator[tuple[int, str]]:
        """The descriptor of the folder that holds it, and its name there; raises ``OSError``.

        Use the name with ``dir_fd`` and without following links.
        """
        base = _TOP if located.outside else self.root
        *above, name = located.relative.strip("/").split("/")
        descriptor = folder_beneath(base, above)
        try:
            yield descriptor, name or "."
        finally:
            os.close(descriptor)

    def open_beneath(self, located: Located, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
        """A descriptor of it, no link followed on the way and no pipe waited for; raises ``OSError``."""
        safe = flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        with self.parent_of(located) as (descriptor, name):
            return os.open(name, safe, mode, dir_fd=descriptor)

    def note_read(self, located: Located, digest: str) -> None:
        """The session knows a file with this content: it read it, or wrote it."""
        self._read[located.absolute] = digest

    def known(self, located: Located) -> str | None:
        """SHA-256 of what the session last knew a file to hold; None when it never read it."""
        return self._read.get(located.absolute)

    def forget(self, located: Located) -> None:
        """The file is gone, or somewhere else."""
        self._read.pop(located.absolute, None)


def result_bytes(window_tokens: int) -> int:
    """How long a result may be in a context window of so many tokens."""
    return max(LEAST_RESULT, min(MOST_RESULT, int(window_tokens * BYTES_PER_TOKEN * SHARE_OF_WINDOW)))


def _resolved(path: Path, through: bool) -> Path:
    if through or path.name in ("", ".."):
        return _true_names(Path(os.path.realpath(path)))
    return _true_names(Path(os.path.realpath(path.parent))) / path.name


def _true_names(path: Path) -> Path:
    """The path as the disk spells it: where case counts for nothing, rules must not be dodged by it."""
    if sys.platform == "darwin":
        from fcntl import F_GETPATH, fcntl

        with suppress(OSError):
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                spelled = fcntl(descriptor, F_GETPATH, b"\0" * 1024)
            finally:
                os.close(descriptor)
            return Path(os.fsdecode(spelled.rstrip(b"\0")))
    return path


def _reason(error: OSError | ValueError) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        return "a name in it is too long"
    return (isinstance(error, OSError) and error.strerror) or "no file system could hold it"
