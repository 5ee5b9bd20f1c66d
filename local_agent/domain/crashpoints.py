"""Named places where a test can kill the process: ``LOCAL_AGENT_CRASH_AT=NAME``, ``NAME:N`` for visit N."""

from __future__ import annotations

import os
import signal

_TARGET = os.environ.get("LOCAL_AGENT_CRASH_AT", "")
_visits: dict[str, int] = {}


def reach(name: str) -> None:
    """Mark a place; kills this process with SIGKILL when the variable names it."""
    if _TARGET:
        _visit(name)


def _visit(name: str) -> None:
    _visits[name] = _visits.get(name, 0) + 1
    if _TARGET in (name, f"{name}:{_visits[name]}"):
        os.kill(os.getpid(), signal.SIGKILL)
