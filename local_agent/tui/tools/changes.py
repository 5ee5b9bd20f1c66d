"""What a call did to files, as lines for a person: kind, path, size and content before and after."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from local_agent.domain.changed import ChangedFile, with_sizes
from local_agent.domain.ledger import Execution
from local_agent.domain.text import one_line
from local_agent.domain.tools import FOLDER, UNKNOWN, FileChange, Sizes
from local_agent.tui.look.quantities import counted, size

_SHORT = 8
"""Digits of a digest that tell contents apart."""
_RIGHTS = 0o7777
_NOT_SCANNED = "not scanned"
_ARROW = " -> "


def note_of(execution: Execution) -> str:
    """What the line of a command's card says of files; empty for other calls, whose summary says it."""
    receipt = execution.receipt
    if receipt is None:
        return ""
    if receipt.sizes:
        return f"{counted(len({change.path for change in execution.changes}), 'path')} changed"
    told = receipt.unscanned.startswith(_NOT_SCANNED) and not execution.facts.get("background")
    return _NOT_SCANNED if told else ""


def unseen(executions: Iterable[Execution]) -> Iterator[str]:
    """What commands may have done unseen; nothing where none ran."""
    receipts = [each.receipt for each in executions if each.tool == "bash" and each.receipt is not None]
    if count := sum(each.unscanned.startswith(_NOT_SCANNED) for each in receipts):
        yield f"{counted(count, 'command')} not scanned"
    if receipts:
        yield "ignored files are not looked at"


def lines_of(execution: Execution) -> Iterator[str]:
    """A line for each change that a look at the files has found, and what is not known of them."""
    receipt = execution.receipt
    if receipt is None:
        return
    for change, sizes in with_sizes(execution):
        if sizes is not None:
            yield line_of(change, sizes)
    if receipt.unscanned:
        yield f"files: {one_line(receipt.unscanned)}"


def line_of(change: FileChange, sizes: Sizes) -> str:
    """``changed  src/a.py  4 B -> 9 B  3f2a9c01 -> 77ab01f2``"""
    folder = change.state_before.folder or change.state_after.folder
    kind = "created" if change.kind == FOLDER else change.kind
    path = one_line(change.path) + "/" * folder
    facts = [] if folder else list(_facts(change.before, change.after, sizes))
    return "  ".join([kind, path, *facts, *_rights(change)])


def about(file: ChangedFile) -> str:
    """One line on a file from before its first change to after its last; empty where nothing was noted."""
    if file.sizes is None:
        return ""
    return "  ".join([file.kind, *_facts(file.before, file.after, file.sizes)])


def growth(file: ChangedFile) -> str:
    """By how much a file has grown or shrunk; empty where that was not noted."""
    if file.sizes is None:
        return ""
    more = (file.sizes.after or 0) - (file.sizes.before or 0)
    return f"{'-' if more < 0 else '+'}{size(abs(more))}"


def _facts(before: str, after: str, sizes: Sizes) -> Iterator[str]:
    known = [each for each in sizes[:2] if each is not None]
    words = list(dict.fromkeys(map(size, known)))
    if len(words) < len(set(known)):  # they differ by less than the words tell
        words = [f"{each:,} B" for each in known]
    yield _ARROW.join(words)
    yield _ARROW.join(dict.fromkeys(_short(each) for each in (before, after) if each))
    if before and before != after and not sizes.kept:
        yield "content before not kept"


def _rights(change: FileChange) -> Iterator[str]:
    before, after = change.mode_before, change.mode_after
    if before is None or after is None or change.state_after.link:
        return
    if before & _RIGHTS != after & _RIGHTS:
        yield f"mode {before & _RIGHTS:o} -> {after & _RIGHTS:o}"


def _short(digest: str) -> str:
    return "content not read" if digest == UNKNOWN else digest[:_SHORT]
