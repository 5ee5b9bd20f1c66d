"""The order in which the steps of a restore find room: nothing is in the way of the next one."""

from __future__ import annotations

import stat
from collections.abc import Iterable

from local_agent.domain.restoring import FileStep, above
from local_agent.domain.tools import FileState


def in_order(steps: Iterable[FileStep]) -> list[FileStep]:
    """Folders are opened, what stands in the way goes, folders come from the top down, then files and links;
    then files go, folders from the bottom up, and folders are closed.

    What is moved is at its new place before it is gone from the old one.
    """
    found = list(steps)
    in_the_way = {
        each.path for each in found if each.now.folder and each.then.digest and not each.then.folder
    }
    return sorted(found, key=lambda step: _place(step, in_the_way))


def narrow(state: FileState) -> bool:
    """Whether a folder's permissions keep its owner from changing what lies in it."""
    return state.folder and state.mode is not None and state.mode & stat.S_IRWXU != stat.S_IRWXU


def _place(step: FileStep, in_the_way: set[str]) -> tuple[int, int, str]:
    depth = step.path.count("/")
    now, then = step.now, step.then
    if now.folder and then.folder:
        return (7, -depth, step.path) if narrow(then) else (0, depth, step.path)
    if not then.digest and not in_the_way.isdisjoint(above(step.path)):
        return 1, -depth, step.path
    if then.folder:
        return 2, depth, step.path
    if then.digest and now.folder:
        # Another one may lie in it.
        return 3, -depth, step.path
    if then.digest:
        return 4, 0, step.path
    return (6, -depth, step.path) if now.folder else (5, 0, step.path)
