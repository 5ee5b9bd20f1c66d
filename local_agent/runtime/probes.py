"""Looks at what an execution may have left behind: its files, its process, the folder it ran in."""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from local_agent.agent.recovery import Seen
from local_agent.domain.intended import files_of
from local_agent.domain.ledger import Execution
from local_agent.domain.tools import FOLDER
from local_agent.objects.store import digest_of
from local_agent.store.processes import this_process
from local_agent.tools.changing.disk import link_content

MOST_PATHS = 50_000
MOST_SECONDS = 3.0
TICK_SECONDS = 0.02
"""What the time of a file may lag behind the clock."""
_PIECE = 1 << 20
_HISTORY = ("logs/HEAD", "packed-refs", "refs/heads", "refs/tags")


class Changed(NamedTuple):
    """What has changed in a folder, and when (seconds since the epoch); ``whole``: all of it was seen."""

    times: tuple[tuple[str, float], ...]
    whole: bool

    def since(self, moment: float) -> tuple[str, ...] | None:
        """Names of what changed since then; None when that is nothing, but not everything was seen."""
        names = tuple(name for name, time in self.times if time >= moment - TICK_SECONDS)
        return names if names or self.whole else None


def look(executions: Sequence[Execution], workspace_root: str, leave_out: Path) -> list[Seen]:
    """What there is to see now of calls of one workspace. Blocks for some seconds at most in a huge folder.

    ``leave_out`` is a folder that this program itself writes to.
    """
    running = [_running(each) for each in executions]
    since = [
        _moment(each.started_at) if not files_of(each) and not runs else None
        for each, runs in zip(executions, running, strict=True)
    ]
    changed = Changed((), whole=False)
    if moments := [each for each in since if each is not None]:
        changed = changed_since(Path(workspace_root), min(moments), leave_out)
    return [
        Seen(
            {path: digest_now(Path(path)) for path in files_of(each)},
            runs,
            changed.since(begun) if begun is not None else None,
        )
        for each, runs, begun in zip(executions, running, since, strict=True)
    ]


def digest_now(path: Path) -> str | None:
    """What a path holds, as changes note it (``FileState.digest``); None for what can't be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0))
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except (OSError, ValueError):
        return _link_digest(path)
    digest = hashlib.sha256()
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return FOLDER if stat.S_ISDIR(mode) else None
        while piece := os.read(descriptor, _PIECE):
            digest.update(piece)
    except OSError:
        return None
    finally:
        os.close(descriptor)
    return digest.hexdigest()


def _link_digest(path: Path) -> str | None:
    try:
        return digest_of(link_content(None, str(path)))
    except (OSError, ValueError):
        return None


def changed_since(root: Path, since: float, leave_out: Path) -> Changed:
    """What of a folder has changed since then (seconds since the epoch), ignored files too."""
    end = time.monotonic() + MOST_SECONDS
    times: list[tuple[str, float]] = []
    if not root.is_dir():
        return Changed((), whole=False)
    moved = _history_time(root / ".git")
    if moved and moved >= since - TICK_SECONDS:
        times.append(("Git's history", moved))
    for count, path in enumerate(_below(root, leave_out)):
        if count >= MOST_PATHS or time.monotonic() > end:
            return Changed(tuple(times), whole=False)
        with suppress(OSError):
            seen = path.lstat()
            changed = max(seen.st_ctime, seen.st_mtime)
            if changed >= since - TICK_SECONDS:
                times.append((f"{path.relative_to(root)}{'/' * stat.S_ISDIR(seen.st_mode)}", changed))
    return Changed(tuple(times), whole=True)


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


def _history_time(git: Path) -> float:
    newest = 0.0
    for name in _HISTORY:
        with suppress(OSError):
            newest = max(newest, (git / name).stat().st_mtime)
    return newest


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
