"""Opens folders below another one without following a link on the way, whatever is swapped meanwhile."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

_PASS = getattr(os, "O_PATH", os.O_RDONLY)
"""To go through a folder takes less than to list it."""


def folder_beneath(base: Path | str, below: Iterable[str]) -> int:
    """A descriptor of the folder that ``below`` leads to, name by name; raises ``OSError``.

    ``base`` itself must be no link either; the folders above it are followed. What may be passed through but
    not listed is opened all the same, where the system can.
    """
    path, above = base, None
    try:
        for name in below:
            inner = _open(path, above, _PASS)
            if above is not None:
                os.close(above)
            path, above = name, inner
        with suppress(PermissionError):
            return _open(path, above, os.O_RDONLY)
        return _open(path, above, _PASS)
    finally:
        if above is not None:
            os.close(above)


def _open(path: Path | str, above: int | None, how: int) -> int:
    return os.open(path, how | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=above)
