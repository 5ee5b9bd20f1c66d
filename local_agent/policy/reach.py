"""Whether what a command names lies in the workspace and holds no secrets, links followed."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from local_agent.config.secrets import is_secret
from local_agent.domain.text import one_line

MOST_ENTRIES = 20_000
"""So many names are looked at for a command that reads whole folders: some 100 ms."""
INSTALLED = frozenset({"node_modules", ".venv", "venv", "site-packages", ".tox", ".nox", ".git"})
"""What looks secret in these came with a package and is nobody's."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a command is not one that can be told to be harmless."""

    reason: str
    """One sentence."""
    outside: str = ""
    """The path outside the workspace that it names."""
    secret: bool = False


@dataclass(frozen=True, slots=True)
class Reach:
    """A folder of the workspace from which a command is run."""

    root: Path
    """The workspace, resolved."""
    folder: Path
    """Where the command runs: the root or below it, resolved."""

    def path(self, text: str) -> Refusal | None:
        """Why a path may not be opened; None when it is inside and ordinary. It need not exist."""
        if text in ("-", "/dev/null"):
            return None
        plain = os.path.join(self.folder, text)
        real = os.path.realpath(plain)
        if not _within(real, self.root):
            return Refusal(f"{one_line(text, 200)} is outside the workspace.", outside=real)
        if is_secret(Path(real)) or is_secret(Path(plain)):
            return Refusal(f"{one_line(text, 200)} looks as if it held secrets.", secret=True)
        return None

    def chance(self, text: str) -> Refusal | None:
        """The same for a word that is no path to the program, as far as anybody knows."""
        return self.path(text) if text and os.path.lexists(os.path.join(self.folder, text)) else None

    def pieces(self, text: str) -> Refusal | None:
        """The same for each part of a word that a program may take for a path."""
        bare = text[2:] if text.startswith("-") and not text.startswith("--") else text
        parts = bare.replace("=", "\n").replace(":", "\n").replace(",", "\n").split("\n")
        for part in parts:
            if part.startswith("~"):
                return Refusal(f"{one_line(text, 200)} is outside the workspace.", outside=part)
            if part and not part.startswith("--") and (found := self.path(part)):
                return found
        return self.chance(text)

    def glob(self, text: str) -> Refusal | None:
        """The same for every name that a pattern could match, and for what it could be taken for."""
        for seen, name in enumerate(self._matches(text)):
            if seen > MOST_ENTRIES:
                return Refusal(f"{one_line(text, 200)} matches too many names.")
            if name.startswith("-"):
                return Refusal(
                    f"{one_line(text, 200)} matches {one_line(name, 80)}, which reads as an option."
                )
            if found := self.path(name):
                return found
        return self.path(text)

    def _matches(self, text: str) -> Iterator[str]:
        """Every name, at every level, that some shell could put in the pattern's place."""
        found = ["/"] if text.startswith("/") else [""]
        for part in text.strip("/").split("/"):
            level: list[str] = []
            for before in found:
                level.extend(os.path.join(before, name) for name in self._names(before, part))
                if len(level) > MOST_ENTRIES:
                    yield from level
                    return
            yield from level
            found = level

    def _names(self, below: str, part: str) -> list[str]:
        if not any(char in part for char in "*?["):
            return [part]
        # From a bracket on anything may match: what it holds means different things in different places.
        pattern = _loose(part)
        try:
            names = os.listdir(os.path.join(self.folder, below))
        except OSError:
            return []
        return [
            name
            for name in names
            if fnmatch.fnmatchcase(name.casefold(), pattern) and (part[0] in ".[" or name[0] != ".")
        ]

    def tree(self, text: str, *, hidden: bool, follows: bool) -> Refusal | None:
        """Why not all that lies in a folder may be read."""
        left = MOST_ENTRIES
        top = os.path.realpath(os.path.join(self.folder, text))
        folders = [top] if os.path.isdir(top) else []
        while folders:
            try:
                entries = list(os.scandir(folders.pop()))
            except OSError:
                continue
            left -= len(entries)
            if left < 0:
                return Refusal("It reads more files than can be looked through for secrets first.")
            for entry in entries:
                if (entry.name.startswith(".") and not hidden) or entry.name in INSTALLED:
                    continue
                if entry.is_symlink():
                    if follows and (entry.is_dir() or self.path(entry.path)):
                        return Refusal(f"It would follow {self._shown(entry.path)}, which is a link.")
                elif is_secret(Path(entry.path)):
                    return Refusal(
                        f"It would read {self._shown(entry.path)}, which looks as if it held secrets.",
                        secret=True,
                    )
                elif entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
        return None

    def _shown(self, path: str) -> str:
        return one_line(os.path.relpath(path, self.root), 200)

    def into(self, text: str) -> Reach | None:
        """Where ``cd`` leads; None when shells may differ about it, or it is no folder inside."""
        plain = os.path.normpath(os.path.join(self.folder, text))
        inside = _within(plain, self.root) and os.path.isdir(plain) and os.path.realpath(plain) == plain
        if not inside or ".." in text.split("/") or text in ("", "-") or os.environ.get("CDPATH"):
            return None
        return Reach(self.root, Path(plain))

    def own_git(self) -> bool:
        """Whether Git run here obeys the settings of the workspace's own repository, or the person's."""
        folder = self.folder
        while folder != self.root:
            if os.path.lexists(folder / ".git") or os.path.lexists(folder / "HEAD"):
                return False
            folder = folder.parent
        return os.path.isdir(folder / ".git") or not os.path.lexists(folder / "HEAD")


def _within(path: str, root: Path) -> bool:
    return path == str(root) or path.startswith(os.path.join(root, ""))


def _loose(part: str) -> str:
    """A pattern that matches at least what ``part`` does in any shell, lower case."""
    before, bracket, _ = part.casefold().partition("[")
    return before + "*" * bool(bracket)
