"""Looks at what an execution may have left behind: its files, its process, the folder it ran in."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from local_agent.agent.recovery import Seen, files_of
from local_agent.domain.ledger import Execution
from local_agent.store.processes import this_process

MOST_PATHS = 50_000
MOST_SECONDS = 3.0
MOST_CHANGED = 100
TICK_SECONDS = 0.02
"""What the time of a file may lag behind the clock."""
_PIECE = 1 << 20
_HISTORY = ("logs/HEAD", "packed-refs", "refs/heads", "refs/tags")


def look(execution: Execution, workspace_root: str, leave_out: Path) -> Seen:
    """What there is to see now. Blocks for some seconds at most in a huge folder.

    ``leave_out`` is a folder that this program itself writes to.
    """
    files = files_of(execution)
    running = _running(execution)
    if files:
        return Seen({path: digest_now(Path(path)) for path in files}, running)
    since = _moment(execution.started_at)
    if since is None or running:
        return Seen(running=running)
    return Seen(running=running, changed=changed_since(Path(workspace_root), since, leave_out))


def digest_now(path: Path) -> str | None:
    """SHA-256 of a regular file; empty where nothing is, None for what can't be read or is no file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return None
    digest = hashlib.sha256()
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def changed_since(root: Path, since: float, leave_out: Path) -> tuple[str, ...] | None:
    """What of a folder has changed since then (seconds since the epoch), ignored files too.

    None when nothing was found but not everything was looked at, or the folder is gone.
    """
    since -= TICK_SECONDS
    end = time.monotonic() + MOST_SECONDS
    changed: list[str] = []
    if not root.is_dir():
        return None
    if _history_changed(root / ".git", since):
        changed.append("Git's history")
    for count, path in enumerate(_below(root, leave_out)):
        if count >= MOST_PATHS or time.monotonic() > end:
            return tuple(changed) or None
        with suppress(OSError):
            seen = path.lstat()
            if max(seen.st_ctime, seen.st_mtime) >= since:
                changed.append(f"{path.relative_to(root)}{'/' * stat.S_ISDIR(seen.st_mode)}")
        if len(changed) >= MOST_CHANGED:
            break
    return tuple(changed)


def _below(root: Path, leave_out: Path) -> Iterator[Path]:
    """Everything below a folder, the nearest first, and nothing of Git's own."""
    folders = [root]
    while folders:
        inside: list[Path] = []
        for folder in folders:
            with suppress(OSError), os.scandir(folder) as entries:
                for entry in entries:
                    path = folder / entry.name
                    if entry.name == ".git" or path == leave_out:
                        continue
                    yield path
                    if entry.is_dir(follow_symlinks=False):
                        inside.append(path)
        folders = inside


def _history_changed(git: Path, since: float) -> bool:
    for name in _HISTORY:
        with suppress(OSError):
            if (git / name).stat().st_mtime >= since:
                return True
    return False


def _running(execution: Execution) -> bool | None:
    """By number and start, so that a later process of the same number is not taken for it."""
    pid, start = execution.facts.get("pid"), execution.facts.get("process_start")
    if type(pid) is not int or not isinstance(start, str) or not start:
        return None
    return replace(this_process(), pid=pid, process_start=start).alive()


def _moment(stamp: str) -> float | None:
    try:
        return datetime.fromisoformat(stamp).timestamp()
    except ValueError:
        return None
