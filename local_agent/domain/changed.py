"""The files that a session changed, gathered from its executions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from local_agent.domain.ledger import Execution
from local_agent.domain.tools import UNKNOWN, FileChange, Sizes


@dataclass(slots=True)
class ChangedFile:
    """One file, from before the session's first change of it to after the last."""

    path: str
    before: str
    """SHA-256 of the content before; empty when there was no file."""
    after: str
    """SHA-256 of the content that the session left; empty when it removed the file."""
    diffs: list[str] = field(default_factory=list)
    """What each change did, oldest first, unified, as far as it was kept."""
    times: int = 0
    mode_before: int | None = None
    mode_after: int | None = None
    sizes: Sizes | None = None
    """None where the first or last change did not note them."""

    @property
    def kind(self) -> str:
        """``created``, ``removed``, ``changed`` (its permissions, perhaps), or ``as it was``."""
        if self.before == self.after != UNKNOWN:
            modes = (self.mode_before, self.mode_after)
            return "as it was" if None in modes or len(set(modes)) == 1 else "changed"
        if not self.before:
            return "created"
        return "changed" if self.after else "removed"


def changed_files(executions: Iterable[Execution]) -> list[ChangedFile]:
    """Each file once, the one that was changed last first."""
    files: dict[str, ChangedFile] = {}
    for execution in executions:
        diff = execution.receipt.diff if execution.receipt is not None else ""
        for change, sizes in with_sizes(execution):
            if change.state_before.folder or change.state_after.folder:
                continue
            file = files.pop(change.path, None) or ChangedFile(
                change.path, change.before, "", mode_before=change.mode_before, sizes=sizes
            )
            if file.sizes is not None:
                file.sizes = sizes and Sizes(file.sizes.before, sizes.after, file.sizes.kept)
            file.after, file.mode_after = change.after, change.mode_after
            file.times += 1
            if part := part_of(diff, change.path):
                file.diffs.append(part)
            files[change.path] = file
    return list(reversed(files.values()))


def with_sizes(execution: Execution) -> Iterator[tuple[FileChange, Sizes | None]]:
    """The changes of a call, each with its sizes where they were noted."""
    noted = execution.receipt.sizes if execution.receipt is not None else ()
    whole = len(noted) == len(execution.changes)
    yield from zip(execution.changes, noted if whole else (None,) * len(execution.changes), strict=True)


def part_of(diff: str, path: str) -> str:
    """Of a unified diff of several files what it says of one; empty when it says nothing."""
    parts: list[list[str]] = []
    lines = diff.splitlines(keepends=True)
    for number, line in enumerate(lines):
        begins = line.startswith("--- ") and number + 1 < len(lines)
        if begins and lines[number + 1].startswith("+++ "):
            parts.append([])
        if parts:
            parts[-1].append(line)
    return "".join("".join(part) for part in parts if path in (_name(part[0]), _name(part[1])))


def _name(heading: str) -> str:
    name = heading[4:].rstrip("\n").partition("\t")[0]
    return name[2:] if name.startswith(("a/", "b/")) else name
