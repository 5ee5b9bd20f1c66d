"""Files as a function of time: what putting them back to an earlier moment would do to each path.

Pure. For every path that a session has changed after that moment, on whatever branch, the moment's content
is what was there before the first such change. Who changed a path last decides whether it is touched.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.tools import FOLDER, UNKNOWN, FileChange, FileState

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
    by: str = ""
    """The path that stands in its place or above it. Where that one makes room, nothing is barred."""


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
        return bool(self.different)

    @property
    def different(self) -> tuple[PlannedPath, ...]:
        """Those that do not hold what they held then."""
        return tuple(each for each in self.paths if each.standing is not Standing.AS_IT_WAS)


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


class Reached(StrEnum):
    """How far one step has come, by what its path holds."""

    DONE = "done"
    OPEN = "not done"
    CONFLICT = "conflict"
    """Neither what it held before nor what it is to hold: somebody else was there."""


def reached(step: FileStep, found: FileState) -> Reached:
    """How far a step has come whose path holds ``found``."""
    if holds(found, step.then):
        return Reached.DONE
    if holds(found, step.now):
        return Reached.OPEN
    # A folder is not made with its permissions, nor does it become a file, in one step.
    begun = found.folder and step.then.folder
    between = (
        not found.digest and step.now.folder != step.then.folder and step.now.digest and step.then.digest
    )
    return Reached.OPEN if begun or between else Reached.CONFLICT


def holds(found: FileState, wanted: FileState) -> bool:
    """Whether both are the same, permissions included where both are known and mean something."""
    if not found.same_content(wanted):
        return False
    known = found.digest and not found.link and found.mode is not None and wanted.mode is not None
    return not known or permissions(found) == permissions(wanted)


def permissions(state: FileState) -> int | None:
    """The permission bits; None where they are not known."""
    return stat.S_IMODE(state.mode) if state.mode is not None else None


def change_of(step: FileStep) -> FileChange:
    """What the ledger says of a step that was done."""
    now, then = step.now, step.then
    if then.folder and not now.folder:
        return FileChange(step.path, FOLDER, now.digest, "", now.mode, then.mode)
    if not then.digest:
        before = "" if now.folder else now.digest
        return FileChange(step.path, "removed", before, "", now.mode)
    kind = "changed" if now.digest else "created"
    return FileChange(step.path, kind, now.digest, then.digest, now.mode, then.mode)


def reversed_step(step: FileStep) -> FileStep:
    """The way back."""
    return FileStep(step.path, step.then, step.now)


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
    shared: Collection[str] = (),
    absent: Collection[str] = (),
) -> FilePlan:
    """Plan to take back ``changes`` (oldest first), where the paths hold ``now``.

    ``kept`` says whether a content can be written again. ``shared``: folders in which there is something that
    the changes don't name. ``absent``: folders above the paths that are not there.
    """
    ends = touched(changes)
    states = {path: now.get(path, FileState()) for path in ends}
    found = {
        path: _planned(path, *ends[path], state, kept)
        for path, state in states.items()
        if isinstance(state, FileState)
    }
    for path, state in states.items():
        if not isinstance(state, Barred):
            continue
        if _leaves_room(state.by, found.get(state.by), path, ends[path][0]):
            found[path] = _planned(path, *ends[path], FileState(), kept)
        else:
            found[path] = PlannedPath(path, Standing.BARRED, FileState(), ends[path][0], state.reason)
    _keep_what_is_filled(found, shared)
    _add_folders(found, absent)
    return FilePlan(tuple(found[path] for path in sorted(found)))


def above(path: str) -> Iterator[str]:
    """The folders that a path lies in, the nearest first; not the workspace, nor the top of the disk."""
    while "/" in path.lstrip("/"):
        path = path.rpartition("/")[0]
        yield path


def _planned(
    path: str, then: FileState, left: FileState, now: FileState, kept: Callable[[FileState], bool]
) -> PlannedPath:
    then = _with_permissions(then, left, now)
    if holds(now, then):
        return PlannedPath(path, Standing.AS_IT_WAS, now, then)
    if left.digest == UNKNOWN:
        return PlannedPath(path, Standing.CONFLICT, now, then, "nobody read what was left there")
    if not now.same_content(left):
        return PlannedPath(path, Standing.CONFLICT, now, then, "changed by somebody else since")
    if then.digest and not then.folder and not kept(then) and not now.same_content(then):
        return PlannedPath(path, Standing.LOST, now, then, "what it held then is not kept")
    return PlannedPath(path, Standing.RESTORED, now, then)


def _with_permissions(then: FileState, left: FileState, now: FileState) -> FileState:
    """What it is to hold, with the permissions that it is to have; those stay that somebody else has set."""
    if not then.digest or then.link:
        return then
    rights = permissions(then)
    if now.digest and not now.link and now.folder is then.folder:
        theirs = left.mode is not None and permissions(left) != permissions(now)
        if rights is None or theirs:
            rights = permissions(now)
    kind = stat.S_IFDIR if then.folder else stat.S_IFREG
    return FileState(then.digest, None if rights is None else kind | rights)


def _leaves_room(by: str, blocker: PlannedPath | None, path: str, then: FileState) -> bool:
    """Whether what stands in the way of a path does not matter, or goes back to what does not."""
    is_above = bool(by) and path.startswith(f"{by}/")
    if is_above and not then.digest:
        return True
    if blocker is None or blocker.standing is not Standing.RESTORED:
        return False
    return blocker.then.folder if is_above else not blocker.then.digest


def _keep_what_is_filled(found: dict[str, PlannedPath], shared: Collection[str]) -> None:
    """A folder stays while anything stays in it."""
    filled = set(shared)
    for path in sorted(found, reverse=True):
        each = found[path]
        leaves = each.standing is Standing.RESTORED and each.now.folder and not each.then.folder
        if leaves and path in filled:
            each = PlannedPath(path, Standing.CONFLICT, each.now, each.then, "something else lies in it")
            found[path] = each
        stays = each.now if each.standing is not Standing.RESTORED else each.then
        if stays.digest or each.standing is Standing.BARRED:
            filled.update(above(path))


def _add_folders(found: dict[str, PlannedPath], absent: Collection[str]) -> None:
    """Make the folders that are gone for what goes back into them."""
    for path, each in list(found.items()):
        if each.standing is not Standing.RESTORED or not each.then.digest:
            continue
        for folder in above(path):
            if folder in absent and folder not in found:
                found[folder] = PlannedPath(folder, Standing.RESTORED, FileState(), FileState(FOLDER))
