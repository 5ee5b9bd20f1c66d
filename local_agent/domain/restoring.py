"""Files as a function of time: what putting them back to an earlier moment would do to each path.

Pure. For every path that a session has changed after that moment, on whatever branch, the moment's content
is what was there before the first such change. Who changed a path last decides whether it is touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from local_agent.domain.tools import FileChange, FileState

RESTORE_TOOL = "restore"
"""What the ledger calls an execution that puts files back."""


class Standing(StrEnum):
    """What becomes of one path."""

    RESTORED = "restored"
    AS_IT_WAS = "as it was"
    """It holds already what it held then."""
    CONFLICT = "conflict"
    """Somebody else changed it after the session did: it is kept."""
    LOST = "lost"
    """What it held then is not kept (any more): it stays."""
    BARRED = "barred"
    """It can't be looked at or reached; ``note`` says why. It stays."""


@dataclass(frozen=True, slots=True)
class Barred:
    """A path that can't be looked at, or must not be touched."""

    reason: str


@dataclass(frozen=True, slots=True)
class FileStep:
    """One path, from what it holds now to what it is to hold."""

    path: str
    now: FileState
    then: FileState


@dataclass(frozen=True, slots=True)
class PlannedPath:
    """One path of a plan."""

    path: str
    standing: Standing
    now: FileState
    then: FileState
    note: str = ""

    @property
    def step(self) -> FileStep:
        """What is done about it."""
        return FileStep(self.path, self.now, self.then)


@dataclass(frozen=True, slots=True)
class FilePlan:
    """What a restore of files would do, path by path, sorted."""

    paths: tuple[PlannedPath, ...] = ()

    def of(self, standing: Standing) -> tuple[PlannedPath, ...]:
        """Those with one standing."""
        return tuple(each for each in self.paths if each.standing is standing)

    @property
    def steps(self) -> tuple[FileStep, ...]:
        """What is done."""
        return tuple(each.step for each in self.of(Standing.RESTORED))

    @property
    def changes_anything(self) -> bool:
        """Whether a person has to be asked: some path is not as it was then."""
        return any(each.standing is not Standing.AS_IT_WAS for each in self.paths)


@dataclass(frozen=True, slots=True)
class RestoreIntent:
    """What is written down before the first file is touched."""

    what: str
    """One line."""
    steps: tuple[FileStep, ...]

    def facts(self) -> dict[str, object]:
        """As the ledger keeps it; ``intent_of`` reads it."""
        rows = [
            [each.path, each.now.digest, each.now.mode, each.then.digest, each.then.mode]
            for each in self.steps
        ]
        return {"what": self.what, "steps": rows}


def intent_of(facts: Mapping[str, object]) -> RestoreIntent | None:
    """What ``RestoreIntent.facts`` wrote, whatever stands beside it; None where that can't be read."""
    rows = facts.get("steps")
    if not isinstance(rows, list):
        return None
    steps = [_step(row) for row in rows]
    if None in steps:
        return None
    return RestoreIntent(str(facts.get("what", "")), tuple(step for step in steps if step is not None))


def _step(row: object) -> FileStep | None:
    match row:
        case [
            str(path),
            str(now),
            int() | None as now_mode,
            str(then),
            int() | None as then_mode,
        ]:
            return FileStep(path, FileState(now, now_mode), FileState(then, then_mode))
    return None


def touched(changes: Iterable[FileChange]) -> Mapping[str, tuple[FileState, FileState]]:
    """Each path of changes, oldest first: what it held before the first, and what the last one left."""
    found: dict[str, tuple[FileState, FileState]] = {}
    for change in changes:
        first, _ = found.get(change.path, (change.state_before, change.state_before))
        found[change.path] = first, change.state_after
    return found


def plan_files(
    changes: Sequence[FileChange],
    now: Mapping[str, FileState | Barred],
    kept: Callable[[FileState], bool],
) -> FilePlan:
    """Plan to take back ``changes`` (oldest first), where the paths hold ``now``.

    ``kept`` says whether a content can be written again.
    """
    return FilePlan(
        tuple(
            _planned(path, then, left, now.get(path, FileState()), kept)
            for path, (then, left) in sorted(touched(changes).items())
        )
    )


def _planned(
    path: str,
    then: FileState,
    left: FileState,
    now: FileState | Barred,
    kept: Callable[[FileState], bool],
) -> PlannedPath:
    if isinstance(now, Barred):
        return PlannedPath(path, Standing.BARRED, FileState(), then, now.reason)
    if then.mode is None or (now.digest and now.mode != left.mode):
        # Permissions that somebody else has set since stay.
        then = replace(then, mode=now.mode)
    if now.same_content(then) and now.mode == then.mode:
        return PlannedPath(path, Standing.AS_IT_WAS, now, then)
    if not now.same_content(left):
        return PlannedPath(path, Standing.CONFLICT, now, then, "changed by somebody else since")
    if then.digest and not then.folder and not kept(then):
        return PlannedPath(path, Standing.LOST, now, then, "what it held then is not kept")
    return PlannedPath(path, Standing.RESTORED, now, then)
