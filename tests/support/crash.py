"""Runs a function of a test in a child process that dies by SIGKILL, as when memory runs out.

    def write_three_turns(database: str) -> None: ...        # at module level of the test

    crash_at("settle", write_three_turns, str(path))         # dies where the program calls reach("settle")
    killed = kill_at_random(write_three_turns, str(path), within=0.4, seed=7)

The places are named by ``local_agent.domain.crashpoints.reach``; ``"settle:3"`` dies at the third visit.
Arguments go over as JSON.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIMIT = 30
_CALL = """
import importlib, json, sys
module, name, arguments = sys.argv[1:]
getattr(importlib.import_module(module), name)(*json.loads(arguments))
"""


def crash_at(point: str, function: Callable[..., None], *arguments: object) -> None:
    """Call ``function`` in a process that is killed at ``point``; fails when the point is never reached."""
    assert dies_at(point, function, *arguments), f"{point} was not reached"


def dies_at(point: str, function: Callable[..., None], *arguments: object) -> bool:
    """The same; False when ``function`` came to its end without reaching ``point``."""
    child = _start(function, arguments, {"LOCAL_AGENT_CRASH_AT": point})
    with child:
        _, errors = child.communicate(timeout=LIMIT)
    assert child.returncode in (0, -signal.SIGKILL), errors
    return child.returncode != 0


def kill_at_random(function: Callable[..., None], *arguments: object, within: float, seed: int) -> bool:
    """Call ``function`` in a process that is killed at an instant of its first ``within`` seconds.

    False when the function had come to its end before. The instant follows from ``seed``.
    """
    child = _start(function, arguments, {})
    with child:
        try:
            _, errors = child.communicate(timeout=random.Random(seed).uniform(0, within))
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()
            return True
    assert child.returncode == 0, errors
    return False


def _start(
    function: Callable[..., None], arguments: tuple[object, ...], variables: dict[str, str]
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _CALL, function.__module__, function.__name__, json.dumps(arguments)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **variables},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
