"""The files that a session changed, from what the ledger has of its calls."""

from __future__ import annotations

from stat import S_IFDIR, S_IFREG

from local_agent.domain.changed import changed_files, part_of
from local_agent.domain.ledger import EventKind, Execution, Receipt
from local_agent.domain.tools import Effect, FileChange

TWO = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n--- /dev/null\n+++ b/b.py\n@@ -0,0 +1 @@\n+--- a/x\n"


def made(*changes: FileChange, diff: str = "") -> Execution:
    return Execution(
        "e",
        1,
        1,
        1,
        0,
        "edit",
        {},
        Effect.EFFECTFUL,
        EventKind.COMPLETED,
        receipt=Receipt("ok", diff=diff),
        changes=changes,
    )


def test_each_file_once_from_its_first_state_to_its_last() -> None:
    files = changed_files(
        [
            made(FileChange("a.py", "changed", "1", "2"), FileChange("b.py", "created", "", "x"), diff=TWO),
            made(FileChange("a.py", "changed", "2", "3")),
            made(FileChange("src", "folder")),
            made(FileChange("b.py", "removed", "x", "")),
            made(FileChange("c.py", "removed", "y", "", S_IFREG | 0o644)),
            made(FileChange("src", "removed", "", "", S_IFDIR | 0o755)),
            made(FileChange("run", "changed", "r", "r", S_IFREG | 0o644, S_IFREG | 0o755)),
            made(FileChange("back", "changed", "s", "s", S_IFREG | 0o644, S_IFREG | 0o755)),
            made(FileChange("back", "changed", "s", "s", S_IFREG | 0o755, S_IFREG | 0o644)),
        ]
    )
    assert [(file.path, file.kind, file.times) for file in files] == [
        ("back", "as it was", 2),
        ("run", "changed", 1),
        ("c.py", "removed", 1),
        ("b.py", "as it was", 2),
        ("a.py", "changed", 2),
    ]


def test_a_diff_of_several_files_is_told_apart() -> None:
    assert part_of(TWO, "a.py") == "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-1\n+2\n"
    assert part_of(TWO, "b.py").endswith("+--- a/x\n")
    assert part_of(TWO, "c.py") == "" == part_of("", "a.py")
