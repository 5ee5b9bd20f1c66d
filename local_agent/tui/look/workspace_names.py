"""Folders as people name them."""

from __future__ import annotations

from pathlib import Path

from local_agent.domain.text import one_line


def folder_name(root: str) -> str:
    """The last part of a path, or the whole of a root."""
    return one_line(Path(root).name or root)


def short_path(root: str) -> str:
    """A path with ``~`` for the home folder."""
    home = str(Path.home())
    if root == home or root.startswith(home.rstrip("/") + "/"):
        root = "~" + root[len(home.rstrip("/")) :]
    return one_line(root)
