"""Named places where a test can kill the process: ``LOCAL_AGENT_CRASH_AT=NAME``, ``NAME:N`` for visit N."""

from __future__ import annotations

import os
import signal
from typing import Literal, get_args

CommitName = Literal[
    "checkpoint.make",
    "compaction.commit",
    "draft.save",
    "draft.take",
    "head.travel",
    "lease.hold",
    "lease.release",
    "lease.take_over",
    "ledger.repair",
    "ledger.settle",
    "reply.keep",
    "restore.end",
    "restore.take_back",
    "session.change",
    "session.create",
    "session.fork",
    "session.import",
    "session.mark",
    "session.purge",
    "session.rename",
    "session.set_mode",
    "session.set_model",
    "tool.finish",
    "tool.note",
    "tool.record",
    "tool.start",
    "turn.begin",
    "turn.settle",
]
"""What the store commits; a name that is missing here is refused by the type checker."""

COMMITS: tuple[CommitName, ...] = get_args(CommitName)
POINTS = (
    *(f"{commit}:{side}" for commit in COMMITS for side in ("before-commit", "after-commit")),
    "migrate:statement",
    "migrate:before-commit",
    "migrate:after-commit",
)
"""All of them; proofs kill at each."""

_TARGET = os.environ.get("LOCAL_AGENT_CRASH_AT", "")
visits: dict[str, int] = {}
"""How often each was passed; counted only while the variable is set."""


def reach(name: str) -> None:
    """Mark a place; kills this process with SIGKILL when the variable names it."""
    if _TARGET:
        _visit(name)


def _visit(name: str) -> None:
    visits[name] = visits.get(name, 0) + 1
    if _TARGET in (name, f"{name}:{visits[name]}"):
        os.kill(os.getpid(), signal.SIGKILL)
