"""A project that has moved: its sessions, drafts and notes are offered to the folder where it is now."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from local_agent.config.paths import Paths
from local_agent.domain.notes import Notes
from local_agent.domain.sessions import RecordedFolder
from local_agent.memory.notes_file import NotesFile
from local_agent.store.store import Store


class MovedProjects:
    """Of one folder. Raises ``StoreError``, ``SessionHeld`` and ``ConfigError``."""

    def __init__(self, store: Store, paths: Paths, workspace_root: str) -> None:
        self._store = store
        self._paths = paths
        self._root = workspace_root

    async def find(self, git_root_commit: str | None) -> RecordedFolder | None:
        """The folder that this one seems to have been: of the same repository, with sessions, and gone.

        None where this folder has been worked in, or asked about, before.
        """
        if git_root_commit is None:
            return None
        found = await self._store.same_project(self._root, git_root_commit)
        gone = await asyncio.to_thread(lambda: [each for each in found if _is_gone(each.root)])
        return gone[0] if gone else None

    async def relink(self, old: RecordedFolder, git_root_commit: str) -> None:
        """Let what was the old folder's be this one's. What was allowed there is not allowed here."""
        before, here = NotesFile(self._paths, old.root), NotesFile(self._paths, self._root)
        # A copy first: a crash leaves both, never none.
        notes = await asyncio.to_thread(before.read)
        if notes.notes:
            await asyncio.to_thread(here.change, lambda known: known.joined(notes))
        await self._store.relink(old.root, self._root, git_root_commit)
        if notes != Notes():
            with suppress(OSError):
                await asyncio.to_thread(before.path.unlink)

    async def leave(self, git_root_commit: str) -> None:
        """This is another project: never ask again."""
        await self._store.record_folder(self._root, git_root_commit)


def _is_gone(root: str) -> bool:
    """Whether there is certainly nothing; what can't be looked at may be there."""
    try:
        os.stat(root)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):
        return False
    return False
