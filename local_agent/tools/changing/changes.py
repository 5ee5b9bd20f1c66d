"""What was done to paths, as the ledger keeps it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress

from local_agent.domain.tools import FOLDER, FileChange
from local_agent.tools.folder import Folder, Located


def made_folders(folder: Folder, folders: Sequence[Located]) -> list[FileChange]:
    """The changes of folders that were made."""
    return [FileChange(each.relative, FOLDER, mode_after=mode_at(folder, each)) for each in folders]


def mode_at(folder: Folder, located: Located) -> int | None:
    """The ``st_mode`` of what is at a path, of a link its own; None when nothing can be seen there."""
    with suppress(OSError), folder.parent_of(located) as (parent, name):
        return os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode
    return None
