"""What the ``.agentignore`` files of a folder hide, asked of many paths of one walk."""

from __future__ import annotations

from pathlib import Path

from local_agent.workspace.ignore import AGENT_IGNORE, Rules, ignored, rules_of


class AgentIgnore:
    """Remembers each file that it has read: one is made for each walk."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._rules: dict[str, tuple[Rules, ...]] = {}

    def hides(self, path: str, folder: bool) -> bool:
        """Whether a path relative to the root is hidden itself: the folders above it were asked."""
        return ignored(path, folder, self._within(path.rpartition("/")[0]))

    def _within(self, folder: str) -> tuple[Rules, ...]:
        """The rules that count for what lies in a folder, from the root down."""
        if folder not in self._rules:
            above = self._within(folder.rpartition("/")[0]) if folder else ()
            own = rules_of(self._root / folder / AGENT_IGNORE, f"{folder}/" * bool(folder))
            self._rules[folder] = (*above, own) if own else above
        return self._rules[folder]
