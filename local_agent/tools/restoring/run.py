"""Takes the steps of a restore one after another, and tells in words what came of them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.restoring import FileStep
from local_agent.domain.text import one_line
from local_agent.tools.changing.disk import SCRATCH
from local_agent.tools.folder import Folder, Located
from local_agent.tools.restoring.apply import Kept, NotRestored, close_folder, take
from local_agent.tools.restoring.look import place_of
from local_agent.tools.restoring.order import in_order, narrow


class Outcome(StrEnum):
    """What came of one step."""

    RESTORED = "restored"
    KEPT = "kept"
    """Somebody else was there: it holds what they left."""
    FAILED = "failed"
    """It holds what it held."""
    NOT_DONE = "not done"
    """Its turn did not come."""


@dataclass(frozen=True, slots=True)
class Ended:
    """One step and what came of it; ``reason`` where it was not done."""

    step: FileStep
    outcome: Outcome
    reason: str = ""


def put_back(
    folder: Folder,
    steps: Iterable[FileStep],
    run_id: str,
    on_done: Callable[[int, int], None] = lambda done, total: None,
    stopped: Callable[[], bool] = lambda: False,
) -> list[Ended]:
    """Take steps in an order that works; blocks on the disk.

    ``run_id``: 12 hex digits, in the names of temporary files. ``on_done`` hears after each step how many of
    how many are over; once ``stopped`` says so, no further one is begun.
    """
    ordered = in_order(steps)
    by_path = {step.path: step for step in ordered}
    ended: list[Ended] = []
    for step in ordered:
        if stopped():
            ended.append(Ended(step, Outcome.NOT_DONE))
            continue
        try:
            take(folder, step, by_path, _scratch(run_id))
        except Kept as reason:
            ended.append(Ended(step, Outcome.KEPT, str(reason)))
        except NotRestored as reason:
            ended.append(Ended(step, Outcome.FAILED, str(reason)))
        else:
            ended.append(Ended(step, Outcome.RESTORED))
        on_done(len(ended), len(ordered))
    for each in reversed(ended):
        if each.outcome is Outcome.RESTORED and narrow(each.step.then):
            close_folder(folder, each.step)
    return ended


def clear_scratch(folder: Folder, steps: Iterable[FileStep], run_id: str) -> None:
    """Take away what a run that was killed has left beside its paths."""
    for path in {os.path.join(os.path.dirname(step.path), _scratch(run_id)) for step in steps}:
        located = place_of(folder, path)
        if isinstance(located, Located):
            with suppress(OSError), folder.parent_of(located) as (parent, name):
                os.unlink(name, dir_fd=parent)


def summary_of(ended: Sequence[Ended], done: str = "restored") -> str:
    """One line: how many steps came to which end, such as ``5 restored, 1 failed (no permission)``."""
    counted = Counter((each.outcome, each.reason) for each in ended)
    words = {Outcome.RESTORED: done}
    parts = [
        f"{count:,} {words.get(outcome, outcome)}" + f" ({reason})" * bool(reason)
        for (outcome, reason), count in sorted(counted.items(), key=lambda item: [*Outcome].index(item[0][0]))
    ]
    return ", ".join(parts) or "nothing to put back"


def listed(ended: Sequence[Ended]) -> str:
    """What was not done, a path a line."""
    return "\n".join(
        f"{one_line(each.step.path)}: {each.reason or each.outcome}"
        for each in ended
        if each.outcome is not Outcome.RESTORED
    )


def _scratch(run_id: str) -> str:
    return f"{SCRATCH}{run_id}"
