"""The paths of a folder, looked for in a thread of their own and kept true while they are asked for."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from local_agent.workspace.ranking import Ranking
from local_agent.workspace.walk import MOST_PATHS, MOST_SECONDS, Found, still_true, walk

FRESH_SECONDS = 1.0
"""How long what was found is taken for true without a look."""
RECENT = 20


class Matches(NamedTuple):
    """What a query finds now."""

    paths: Sequence[str]
    """Best first; folders end in ``/``."""
    known: int
    """How many paths were looked through."""
    building: bool
    """More may be known soon: ask again."""
    whole: bool
    """False while not everything is known, or when the folder holds more than is ever looked through."""


class FileIndex:
    """What may be named in a folder. Safe to ask from any thread; asking never waits for the disk."""

    def __init__(
        self,
        root: Path,
        *,
        most: int = MOST_PATHS,
        seconds: float = MOST_SECONDS,
        fresh: float = FRESH_SECONDS,
    ) -> None:
        self.root = root
        self._fresh = fresh
        self._most = most
        self._seconds = seconds
        self._ranking = Ranking()
        self._found: Found | None = None
        self._looked_at = float("-inf")
        self._recent: list[str] = []
        self._working: threading.Thread | None = None
        self._closed = False
        self._asking = threading.Lock()
        """``Ranking.find`` keeps what it found for the next letter."""

    @property
    def building(self) -> bool:
        """Whether a thread looks at the folder now."""
        return self._working is not None and self._working.is_alive()

    def refresh(self) -> None:
        """Look again in a thread if the last look is some time ago; to be called when a word begins."""
        if self._closed or self.building or time.monotonic() - self._looked_at < self._fresh:
            return
        self._working = threading.Thread(target=self._work, name="file-index", daemon=True)
        self._working.start()

    def find(self, query: str, limit: int = 50) -> Matches:
        """At most ``limit`` paths that ``query`` may mean, those taken before first among equals."""
        building = self.building
        with self._asking:
            ranking = self._ranking
            paths = ranking.find(query, limit)
        recent = {path: place for place, path in enumerate(self._recent)}
        if query:
            # The best match stays the best; what was used moves up behind it.
            head, tail = paths[:1], sorted(paths[1:], key=lambda path: recent.get(path, RECENT))
        else:
            head, tail = self._recent[:limit], [path for path in paths if path not in recent]
        whole = self._found is not None and self._found.whole
        return Matches([*head, *tail][:limit], len(ranking), building, whole)

    def used(self, path: str) -> None:
        """A path was taken."""
        self._recent = [path, *(other for other in self._recent if other != path)][:RECENT]

    def close(self) -> None:
        """Let a thread that still looks come to its end."""
        self._closed = True

    def _work(self) -> None:
        if self._found is None or not still_true(self.root, self._found):
            first = self._found is None
            found = walk(
                self.root,
                self._tell if first else lambda _: not self._closed,
                most=self._most,
                seconds=self._seconds,
            )
            self._ranking = Ranking(found.paths)
            self._found = found
        self._looked_at = time.monotonic()

    def _tell(self, found: Found) -> bool:
        # Each time twice as much is known: to rank again costs as much as what is ranked.
        if len(found.paths) >= 2 * len(self._ranking):
            self._ranking = Ranking(found.paths)
        return not self._closed
