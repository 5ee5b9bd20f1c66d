"""What a call was to do to files, as the facts of its start have it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from local_agent.domain.ledger import Execution
from local_agent.domain.tools import FOLDER, FileChange


def files_of(execution: Execution) -> Mapping[str, tuple[str, str]]:
    """The absolute paths that it was to change: what they held before, and what they were to hold."""
    expected, intended = (_digests(execution.facts.get(name)) for name in ("expected", "intended"))
    both = {path: (expected[path], intended[path]) for path in intended if path in expected}
    return {path: sides for path, sides in both.items() if sides[0] != sides[1]}


def intended_changes(execution: Execution, root: str) -> tuple[FileChange, ...]:
    """The same as changes, of paths in the folder ``root`` relative to it. Folders that were to go are left
    out: nothing is known of what was in them.
    """
    return tuple(
        _change(_relative(path, root), before, after)
        for path, (before, after) in files_of(execution).items()
        if before != FOLDER
    )


def _change(path: str, before: str, after: str) -> FileChange:
    if after == FOLDER:
        return FileChange(path, FOLDER, before)
    kind = "removed" if not after else "changed" if before else "created"
    return FileChange(path, kind, before, after)


def _relative(path: str, root: str) -> str:
    place = PurePath(path)
    return place.relative_to(root).as_posix() if root and place.is_relative_to(root) else path


def _digests(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {
        path: digest for path, digest in value.items() if isinstance(path, str) and isinstance(digest, str)
    }
