"""A copy of a database in a folder of its own, to be read where the original can't be opened."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from local_agent.domain.errors import StoreError
from local_agent.store.examine import side_files

ATTEMPTS = 5


class PrivateCopy:
    """The file with what is in its log, in a temporary folder of mode 0700, until ``remove``.

    Not for a file that this process has open: reading it by descriptor drops the locks on it.
    """

    def __init__(self, original: Path) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="local-agent-", ignore_cleanup_errors=True)
        self.path = Path(self._folder.name) / original.name
        try:
            self._copy(original)
        except OSError as error:
            self.remove()
            raise StoreError(
                f"No copy of {original} can be put into {tempfile.gettempdir()}: {error.strerror}.",
                "Make the file readable and free some space there, or set TMPDIR to another folder.",
                str(error),
            ) from error

    def __enter__(self) -> PrivateCopy:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Take the files away; a connection that has them open reads on, but for Windows."""
        self._folder.cleanup()

    def _copy(self, original: Path) -> None:
        # The index of the log is left out: SQLite makes it anew from the log itself.
        parts = [part for part in (original, *side_files(original)) if not part.name.endswith("-shm")]
        for _ in range(ATTEMPTS):
            before = _stamps(parts)
            for part in parts:
                self._copy_part(part)
            if _stamps(parts) == before:
                return
        raise OSError(None, "another program is writing it")

    def _copy_part(self, part: Path) -> None:
        target = self.path.with_name(part.name)
        target.unlink(missing_ok=True)
        if not part.exists():
            return
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as copy, part.open("rb") as source:
            shutil.copyfileobj(source, copy, 1 << 20)


def _stamps(parts: Sequence[Path]) -> list[tuple[int, int]]:
    """Size and time of change of each part; another program writes when they differ."""
    found = (part.stat() if part.exists() else None for part in parts)
    return [(stat.st_size, stat.st_mtime_ns) if stat is not None else (0, 0) for stat in found]
