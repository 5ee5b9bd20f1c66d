"""The recorded run: the model works on the files of the folder, asks, is answered, and tests what it did."""

from __future__ import annotations

from pathlib import Path

from tests.support.ollama_server import Turn, call, done, say, sleep

FILES = {
    "src/restore.py": '''\
"""Restores a backup into a folder of its own."""

import tempfile


def restore(backup, folder=None):
    folder = folder or tempfile.mkdtemp()
    for name, data in backup.items():
        with open(f"{folder}/{name}", "w") as file:
            file.write(data)
    return folder


def cleanup(folder):
    tempfile.tempdir = folder
''',
    "tests/test_restore.py": """\
import os
import sys

sys.path.insert(0, "src")
from restore import cleanup, restore

folder = restore({"a.txt": "one", "b.txt": "two"})
assert sorted(os.listdir(folder)) == ["a.txt", "b.txt"]
cleanup(folder)
assert not os.path.exists(folder), "the folder is still there"
print("2 checks passed")
""",
}
QUESTION = "cleanup() leaves the folder behind. Mend it, and run the test."
EDIT = {
    "path": "src/restore.py",
    "old": "    tempfile.tempdir = folder\n",
    "new": "    shutil.rmtree(folder, ignore_errors=True)\n",
}
IMPORT = {"path": "src/restore.py", "old": "import tempfile\n", "new": "import shutil\nimport tempfile\n"}
CHECK = "python3 tests/test_restore.py"
DONE = """\
`cleanup()` removes the folder now, and the test passes:

- it sets nothing of `tempfile` any more
- a folder that is gone already is no error"""

INSTEAD = """\
Yes: `tmp_path` hands a folder of its own to each test, and removes the old ones by itself."""


def _counted(*steps: object, read: int, wrote: int) -> Turn:
    counts = {
        "prompt_eval_count": read,
        "prompt_eval_duration": 590_000_000,
        "eval_count": wrote,
        "eval_duration": int(wrote / 41 * 1e9),
    }
    return Turn(sleep(0.6), *steps, done("stop", counts=counts))  # type: ignore[arg-type]  # steps of any kind


TURNS = (
    _counted(
        say("I look at the code and its test first."),
        call("read", {"path": "src/restore.py"}),
        call("read", {"path": "tests/test_restore.py"}),
        call("grep", {"pattern": "cleanup"}),
        read=1900,
        wrote=64,
    ),
    _counted(call("edit", EDIT), read=2400, wrote=70),
    _counted(call("edit", IMPORT), read=2500, wrote=60),
    _counted(call("bash", {"command": CHECK}), read=2600, wrote=32),
    _counted(say(DONE), read=2700, wrote=58),
    _counted(say(INSTEAD), read=2100, wrote=36),
)


def write_files(workspace: Path) -> None:
    """The folder as it is before the run."""
    for name, text in FILES.items():
        (workspace / name).parent.mkdir(exist_ok=True)
        (workspace / name).write_text(text)
