"""What became of paths, and what putting them back would do: as a diff, or in a line that says why not."""

from __future__ import annotations

import os
from pathlib import Path

from local_agent.domain.restoring import PlannedPath, Standing
from local_agent.domain.tools import FOLDER, FileState
from local_agent.objects.store import digest_of
from local_agent.tools.folder import Folder
from local_agent.tools.restoring.compared import compared
from tests.tools.changing.folders import workspace

FILE, LINK = 0o100644, 0o120777


def path_of(folder: Folder, name: str, then: bytes | None, *, standing: Standing = Standing.RESTORED,
            mode: int = FILE, note: str = "") -> PlannedPath:  # fmt: skip
    """A path as a plan finds it now; what it held then is kept."""
    file = folder.root / name
    now = FileState()
    if file.is_symlink():
        now = FileState(digest_of(b"link to " + os.fsencode(os.readlink(file))), LINK)
    elif file.is_dir():
        now = FileState(FOLDER, 0o40755)
    elif file.exists():
        now = FileState(digest_of(file.read_bytes()), file.stat().st_mode)
    before = FileState() if then is None else FileState(folder.outputs.put(then), mode)
    return PlannedPath(name, standing, now, before, note)


def test_both_directions_of_a_change_a_removal_and_a_creation(tmp_path: Path) -> None:
    _, tools = workspace(tmp_path, {"a": b"one\ntwo\n", "new": b"n\n"})
    folder = tools.folder
    paths = [path_of(folder, "a", b"one\n2\n"), path_of(folder, "gone", b"g"), path_of(folder, "new", None)]
    since = compared(folder, paths, back=False)
    assert "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-2\n+two\n" in since
    assert "--- a/gone\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-g\n\\ No newline at end of file\n" in since
    assert "--- /dev/null\n+++ b/new\n@@ -0,0 +1,1 @@\n+n\n" in since
    back = compared(folder, paths, back=True)
    assert "-two\n+2\n" in back and "--- /dev/null\n+++ b/gone\n" in back and "-n\n" in back


def test_what_can_be_no_diff_is_said(tmp_path: Path) -> None:
    root, tools = workspace(tmp_path, {"b": b"\0\1", "c": b"theirs\n", "l": b"1", "dir/x": b"", "m": b"same"})
    folder = tools.folder
    os.symlink("c", root / "link")
    os.chmod(root / "m", 0o755)
    lost = PlannedPath("l", Standing.LOST, FileState("1" * 64, FILE), FileState("2" * 64, FILE), "gone")
    barred = PlannedPath("x\x1b[2J", Standing.BARRED, FileState(), FileState(), "it is a pipe")
    text = compared(
        folder,
        [
            path_of(folder, "b", b"\0\1\2"),
            path_of(folder, "c", b"ours\n", standing=Standing.CONFLICT, note="changed by somebody else"),
            lost,
            barred,
            path_of(folder, "link", b"link to b", mode=LINK),
            path_of(folder, "dir", None),
            path_of(folder, "m", b"same"),
        ],
        back=False,
    )
    assert "b: no text that could be compared, 3 B -> 2 B.\n" in text
    assert "c: changed by somebody else; it is kept as it is.\n--- a/c\n+++ b/c\n" in text
    assert "l: what it held then is not kept.\n" in text
    assert "\x1b" not in text and ": it is a pipe.\n" in text
    assert "-link to b" in text and "+link to c" in text
    assert "dir: a folder.\n" in text
    assert "m: its content is the same.\nm: mode 644 -> 755.\n" in text
