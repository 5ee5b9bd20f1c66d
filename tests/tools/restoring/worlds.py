"""A folder that a session and somebody else change in turn, and the ledger of what the session did."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from local_agent.domain.restoring import FilePlan, FileStep, change_of
from local_agent.domain.tools import FOLDER, FileChange, FileState
from local_agent.objects.store import Objects, digest_of
from local_agent.tools.folder import Folder
from local_agent.tools.restoring.plan import planned
from local_agent.tools.restoring.run import Ended, Outcome, put_back

RUN_ID = "0123456789ab"
States = dict[str, FileState]
Tree = dict[str, tuple[int, bytes]]


def bytes_of(path: Path) -> bytes:
    """What stands for a path's content in the object store; nothing for a folder."""
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        return b"link to " + os.fsencode(os.readlink(path))
    return path.read_bytes() if stat.S_ISREG(mode) else b""


def tree_of(root: Path) -> Tree:
    """Everything below a folder: ``st_mode`` and content."""
    return {
        path.relative_to(root).as_posix(): (path.lstat().st_mode, bytes_of(path)) for path in root.rglob("*")
    }


def prints_of(root: Path) -> dict[str, tuple[int, int]]:
    """What tells of files and links whether they were touched at all: inode, and time of the last change."""
    found = {path.relative_to(root).as_posix(): path.lstat() for path in root.rglob("*")}
    return {
        path: (status.st_ino, status.st_mtime_ns)
        for path, status in found.items()
        if not stat.S_ISDIR(status.st_mode)
    }


def states_of(root: Path) -> States:
    """The same as the ledger has it."""
    return {
        path: FileState(FOLDER if stat.S_ISDIR(mode) else digest_of(data), mode)
        for path, (mode, data) in tree_of(root).items()
    }


def changes_between(before: States, after: States) -> list[FileChange]:
    """What a tool that did this would tell."""
    none = FileState()
    pairs = ((path, before.get(path, none), after.get(path, none)) for path in sorted({*before, *after}))
    return [change_of(FileStep(path, old, new)) for path, old, new in pairs if old != new]


@dataclass
class World:
    """``ledger`` is the list of all changes; a moment is a length of it."""

    root: Path
    outputs: Objects
    ledger: list[FileChange] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True, exist_ok=True)
        self.folder = Folder(self.root, self.outputs)

    @property
    def moment(self) -> int:
        return len(self.ledger)

    def session(self, deed: Callable[[Path], None]) -> list[FileChange]:
        """Something that the session does, told to the ledger; what was there before is kept."""
        before = states_of(self.root)
        self._keep()
        deed(self.root)
        self._keep()
        changes = changes_between(before, states_of(self.root))
        self.ledger += changes
        return changes

    def plan(self, moment: int) -> FilePlan:
        return planned(self.folder, self.ledger[moment:])

    def restore(self, moment: int) -> list[Ended]:
        """Back to a moment; what was done is told to the ledger."""
        ended = put_back(self.folder, self.plan(moment).steps, RUN_ID)
        self.ledger += [change_of(each.step) for each in ended if each.outcome is Outcome.RESTORED]
        return ended

    def _keep(self) -> None:
        for path in self.root.rglob("*"):
            if not path.is_dir() or path.is_symlink():
                self.outputs.put(bytes_of(path), durable=False)


def clear(path: Path) -> None:
    """Whatever is there goes."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def make_way(path: Path) -> None:
    """All above is a folder afterwards, and nothing is there."""
    for above in reversed(path.parents):
        if above.is_symlink() or above.is_file():
            above.unlink()
    path.parent.mkdir(parents=True, exist_ok=True)
    clear(path)
