"""What a restore would do to the paths as they are now, and how far one has come. Blocks on the disk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from local_agent.domain.restoring import Barred, FilePlan, FileStep, Reached, plan_files, reached, touched
from local_agent.domain.tools import FileChange, FileState
from local_agent.tools.changing.keeping import kept
from local_agent.tools.folder import Folder
from local_agent.tools.restoring.look import absent_above, look, shared_among


def planned(folder: Folder, changes: Sequence[FileChange]) -> FilePlan:
    """What taking back ``changes``, oldest first, would do."""
    ends = touched(changes)
    now = {path: look(folder, path) for path in ends}
    going = [
        path
        for path, state in now.items()
        if isinstance(state, FileState) and state.folder and not ends[path][0].folder
    ]
    return plan_files(
        changes,
        now,
        lambda state: kept(folder.outputs, state.digest),
        shared_among(folder, going, ends),
        absent_above(folder, [path for path, (then, _) in ends.items() if then.digest]),
    )


def progress(folder: Folder, steps: Iterable[FileStep]) -> Mapping[Reached, Sequence[FileStep]]:
    """The steps by how far they have come."""
    by_path = {step.path: step for step in steps}
    found: dict[Reached, list[FileStep]] = {each: [] for each in Reached}
    for step in by_path.values():
        state = look(folder, step.path)
        if not isinstance(state, Barred):
            at = reached(step, state)
        elif state.by in by_path:
            # What the disk finds there is another step's: nothing can be there under this name.
            at = reached(step, FileState())
        else:
            at = Reached.CONFLICT
        found[at].append(step)
    return found
