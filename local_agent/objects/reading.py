"""Reads a file that may be anything, without ever waiting for somebody to write it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

MAX_BYTES = 20 * 1024 * 1024
"""Of a picture, as it comes and as it is kept."""


class Refused(Exception):
    """Why something can't be taken in; follows a name, as in ``is empty``."""


def read_regular(path: Path, limit: int) -> bytes:
    """All bytes of a regular file; ``Refused`` for anything else, and for more than ``limit`` bytes.

    A pipe without a writer would block the ``open`` itself, so it is opened without waiting and
    looked at before a byte is read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as file:
            seen = os.fstat(descriptor)
            if stat.S_ISDIR(seen.st_mode):
                raise Refused("is a folder")
            if not stat.S_ISREG(seen.st_mode):
                raise Refused("is a pipe or a device, not a file")
            if seen.st_size > limit:
                raise Refused(f"has {megabytes(seen.st_size)}; at most {megabytes(limit)} can be taken")
            data = file.read(limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        raise Refused("is not there") from None
    except IsADirectoryError:
        raise Refused("is a folder") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise Refused(f"can't be read: {reason}") from error
    if len(data) > limit:
        raise Refused(f"is still growing, beyond {megabytes(limit)}")
    return data


def megabytes(size: int) -> str:
    """Bytes as a person reads them."""
    return f"{size / 1024 / 1024:.1f} MiB".replace(".0 MiB", " MiB")
