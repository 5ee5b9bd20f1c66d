"""Telling a native crash of the engine from other ends: a marker that exists while it works.

The engine shares our process: what aborts it ends us without a word. So a file is written before
it works and removed afterwards; a later start that finds one whose writer is gone reports it.
Python's fault handler writes into the same file, and only on a native crash: without its words the
process was killed from outside.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from local_agent.config.private_files import create_private
from local_agent.domain.text import decode, one_line

_FAULT_SIGNS = ("Fatal Python error:", "Windows fatal exception:")


@contextmanager
def engine_marker(marker: Path | None, model: str) -> Generator[None, None, None]:
    """Keep the marker while the engine works on ``model``; without a writable folder, keep none."""
    descriptor = None if marker is None else _create(_own(marker), model)
    if marker is None or descriptor is None:
        yield
        return
    was_enabled = faulthandler.is_enabled()
    faulthandler.enable(descriptor, all_threads=False)
    try:
        yield
    finally:
        faulthandler.disable()
        if was_enabled:
            faulthandler.enable()
        os.close(descriptor)
        _own(marker).unlink(missing_ok=True)


def engine_crash_report(marker: Path) -> str | None:
    """One line when an earlier process ended while its engine worked; tells it once."""
    reports = [_report(found) for found in sorted(marker.parent.glob(f"{marker.stem}-*{marker.suffix}"))]
    return next((report for report in reports if report is not None), None)


def _own(marker: Path) -> Path:
    """Each process has its own marker: several may run an engine at once."""
    return marker.with_name(f"{marker.stem}-{os.getpid()}{marker.suffix}")


def _create(path: Path, model: str) -> int | None:
    try:
        path.unlink(missing_ok=True)
        descriptor = create_private(path, os.O_RDWR | os.O_EXCL)
    except OSError:
        return None
    with contextlib.suppress(OSError):
        _lock(descriptor)
        os.write(descriptor, json.dumps({"model": model, "pid": os.getpid()}).encode() + b"\n")
    return descriptor


def _report(path: Path) -> str | None:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if not _lock(descriptor):
            return None
        first, _, rest = decode(os.read(descriptor, 1 << 16)).partition("\n")
    finally:
        os.close(descriptor)
    # Where files are locked by being open (Windows), a live writer's marker can't be removed.
    try:
        path.unlink()
    except OSError:
        return None
    return _sentence(_model(first), rest)


def _sentence(model: str, said: str) -> str:
    for sign in _FAULT_SIGNS:
        if sign in said:
            reason = one_line(said.partition(sign)[2].split("\n")[0], 60)
            return f"The engine crashed while running {model} ({reason}). What was stored until then is kept."
    return f"The program was killed while the engine was running {model}. What was stored until then is kept."


def _model(line: str) -> str:
    try:
        found = json.loads(line)
    except ValueError:
        return "a model"
    name = found.get("model") if isinstance(found, dict) else None
    return one_line(name, 80) if isinstance(name, str) and name.strip() else "a model"


def _lock(descriptor: int) -> bool:
    """Take the lock that a dead process can't hold; False when a live one does."""
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
