"""Completes a path that is an argument of a command: any folder's files, as a shell would."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

LOOKED_AT = 5_000
"""Names of one folder."""
OFFERED = 50


def path_words(typed: str, folder: Path, endings: Sequence[str] = ()) -> list[str]:
    """What ``typed`` may become: folders, ending in ``/``, and files with one of ``endings``.

    ``~`` and ``..`` stay as they are typed. Reads one folder; what can't be read offers nothing.
    """
    above, slash, begun = typed.rpartition("/")
    here = folder / os.path.expanduser(above + slash)
    try:
        with os.scandir(here) as entries:
            named = [
                entry
                for entry in islice(entries, LOOKED_AT)
                if entry.name.lower().startswith(begun.lower())
                and (begun.startswith(".") or not entry.name.startswith("."))
            ]
    except (OSError, ValueError):
        return []
    folders = sorted(f"{entry.name}/" for entry in named if _is_folder(entry))
    files = sorted(each.name for each in named if each.name.lower().endswith(tuple(endings) or ""))
    files = [name for name in files if f"{name}/" not in folders]
    return [above + slash + name for name in (*folders, *files)[:OFFERED]]


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a loop of links
        return False
