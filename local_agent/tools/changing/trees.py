"""A file, a link or a folder with everything below it, as it is to be moved, copied or removed."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from local_agent.domain.sizes import size_words
from local_agent.domain.tools import FOLDER, FileChange, ToolFailed
from local_agent.tools.changing.changes import mode_at
from local_agent.tools.changing.disk import beneath, state_of, words
from local_agent.tools.changing.keeping import settled, unkept
from local_agent.tools.changing.targets import reserved
from local_agent.tools.folder import Folder, Located

MOST_FILES = 1_000
MOST_BYTES = 512 * 1024 * 1024
"""Of all files together: each is read, so that the ledger can say what was there."""


class Leaf(NamedTuple):
    """One of them; what lies in a folder comes after it."""

    located: Located
    state: str
    """SHA-256, or ``FOLDER``."""
    mode: int
    """``st_mode``."""
    size: int
    """Bytes of a file; 0 of a folder or a link."""
    link: bool

    @property
    def folder(self) -> bool:
        """Whether it is a folder."""
        return self.state == FOLDER


Tree = tuple[Leaf, ...]


def tree_at(folder: Folder, located: Located, verb: str) -> Tree:
    """What is there, sorted; empty when nothing is. ``verb`` says in refusals what was to be done.

    Raises ``ToolFailed`` for too much, and for what is kept from tools or is no file below it.
    """
    if not state_of(folder, located, hashed=False):
        return ()
    tree: list[Leaf] = []
    size = 0
    try:
        for leaf in _walked(folder, located):
            tree.append(leaf)
            size += leaf.size
            if len(tree) > MOST_FILES or size > MOST_BYTES:
                raise ToolFailed(
                    f"{located.shown} is too much to {verb} at once: over {MOST_FILES:,} files or "
                    f"{size_words(MOST_BYTES)}. Take its folders one by one, or use bash."
                )
    except OSError as error:
        raise ToolFailed(words(error, located)) from error
    for leaf in tree[1:]:
        _refuse_kept(folder, located, leaf, verb)
    # Only now is anything read: what is too large, or kept from tools, is refused before.
    return tuple(leaf._replace(state=state_of(folder, leaf.located)) for leaf in tree)


def gone(tree: Tree) -> list[FileChange]:
    """The changes of a tree that is not there any more."""
    return [
        FileChange(leaf.located.relative, "removed", "" if leaf.folder else leaf.state, "", leaf.mode)
        for leaf in tree
    ]


def come(tree: Tree, source: Located, target: Located, folder: Folder) -> list[FileChange]:
    """The changes of a tree that is now at ``target`` as well."""
    changes = []
    for leaf in tree:
        located = moved(leaf.located, source, target, folder)
        kind, after = (FOLDER, "") if leaf.folder else ("created", leaf.state)
        changes.append(FileChange(located.relative, kind, "", after, mode_after=mode_at(folder, located)))
    return changes


def keep_tree(folder: Folder, tree: Tree, ended: threading.Event, *, durable: bool) -> Mapping[str, str]:
    """Keep each content of a tree once: why not, by state, for those that can't be kept.

    Once ``ended`` is set no further one is read; nothing is said of the rest.
    """
    reasons: dict[str, str] = {}
    for leaf in tree:
        if ended.is_set():
            return {}
        if not leaf.folder and leaf.state not in reasons:
            # All are settled at once: to wait for the disk at each would take minutes of a large tree.
            reasons[leaf.state] = unkept(folder, leaf.located, leaf.state, durable=False)
    if durable and (problem := settled(folder, (state for state, why in reasons.items() if not why))):
        return dict.fromkeys(reasons, problem)
    return {state: why for state, why in reasons.items() if why}


def moved(located: Located, source: Located, target: Located, folder: Folder) -> Located:
    """Where something below ``source`` is below ``target``."""
    inner = located.absolute.relative_to(source.absolute)
    return beneath(folder, target.absolute / inner)


def words_for(tree: Tree) -> str:
    """How much it is."""
    files = sum(not leaf.folder for leaf in tree)
    size = size_words(sum(leaf.size for leaf in tree))
    if not tree[0].folder:
        return "a link" if tree[0].link else size
    return f"{'1 file' if files == 1 else f'{files:,} files'}, {size}" if files else "an empty folder"


def _walked(folder: Folder, located: Located) -> Iterator[Leaf]:
    waiting = [located]
    while waiting:
        here = waiting.pop()
        with folder.parent_of(here) as (parent, name):
            status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        is_folder, is_link = stat.S_ISDIR(status.st_mode), stat.S_ISLNK(status.st_mode)
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        yield Leaf(here, FOLDER if is_folder else "", status.st_mode, size, is_link)
        if is_folder:
            descriptor = folder.open_beneath(here, os.O_RDONLY | os.O_DIRECTORY)
            try:
                names = sorted(os.listdir(descriptor), reverse=True)
            finally:
                os.close(descriptor)
            waiting += (beneath(folder, here.absolute / name) for name in names)


def _refuse_kept(folder: Folder, top: Located, leaf: Leaf, verb: str) -> None:
    reason = reserved(leaf.located.absolute.name) or folder.kept_back(leaf.located, folder=leaf.folder)
    if reason:
        raise ToolFailed(
            f"{top.shown} holds something that is kept from tools ({reason}), so no tool can {verb} all of "
            "it. Take the rest one by one."
        )
