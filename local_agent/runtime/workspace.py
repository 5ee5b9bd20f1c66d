"""What identifies a folder beyond its path."""

from __future__ import annotations

import subprocess
from pathlib import Path

GIT_SECONDS = 2.0


def git_root_commit(folder: Path) -> str | None:
    """The first commit of the folder's Git repository; None without one, without Git, or when it is slow."""
    lines = _git(folder, "rev-list", "--max-parents=0", "HEAD")
    return lines[-1] if lines else None


def git_branch(folder: Path) -> str | None:
    """The name of the branch that is checked out, without starting Git."""
    for parent in (folder, *folder.parents):
        head = parent / ".git" / "HEAD"
        try:
            text = head.read_text("utf-8").strip()
        except (OSError, ValueError):
            continue
        return text.removeprefix("ref: refs/heads/") if text.startswith("ref: ") else text[:7]
    return None


def _git(folder: Path, *arguments: str) -> list[str]:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments],
            capture_output=True,
            text=True,
            timeout=GIT_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired, ValueError):
        return []
    return done.stdout.split() if done.returncode == 0 else []
