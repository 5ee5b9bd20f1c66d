"""Remembered choices: private, strict, replaced in one step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from local_agent.config.preferences import MAX_BYTES, Preferences
from local_agent.domain.errors import ConfigError


def test_what_is_written_is_read_back_privately(tmp_path: Path) -> None:
    path = tmp_path / "config" / "home" / "runtime-preferences.json"
    assert Preferences.read(path) == Preferences()
    for wanted in (Preferences("qwen3:4b", ("box.lan",)), Preferences(allowed_hosts=("a", "b"))):
        wanted.write(path)
        assert Preferences.read(path) == wanted
    assert path.stat().st_mode & 0o777 == 0o600
    for folder in (path.parent, path.parent.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"model": 3}', b'{"allowed_hosts": "a"}', b'{"allowed_hosts": [1]}',
        b'{"other": 1}',
        b"\xff", b"[" * 900, b" " * (MAX_BYTES + 1),
    ],
)  # fmt: skip
def test_a_damaged_file_is_refused_with_the_way_out(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "runtime-preferences.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match="is damaged") as caught:
        Preferences.read(path)
    assert caught.value.hint.startswith("Delete it")


def test_what_does_not_fit_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "runtime-preferences.json"
    Preferences("kept").write(path)
    with pytest.raises(ConfigError, match="no room"):
        Preferences(allowed_hosts=tuple(f"host-{n}.lan" for n in range(200))).write(path)
    assert Preferences.read(path) == Preferences("kept")


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="Can't write"):
        Preferences().write(tmp_path / "file" / "sub" / "runtime-preferences.json")


def test_of_two_processes_the_last_complete_choice_counts(tmp_path: Path) -> None:
    path = tmp_path / "runtime-preferences.json"
    Preferences(allowed_hosts=("box.lan",)).write(path)
    names = ("a" * 300, "b" * 500)
    code = (
        "import sys; from pathlib import Path; from local_agent.config.preferences import remember\n"
        "for n in range(60): remember(Path(sys.argv[1]), model=sys.argv[2], instead_of=str(n))"
    )
    writers = [subprocess.Popen([sys.executable, "-c", code, str(path), name]) for name in names]
    seen = set()
    while any(writer.poll() is None for writer in writers):
        seen.add(Preferences.read(path).model)
    assert [writer.returncode for writer in writers] == [0, 0]
    assert seen - {""} <= set(names)
    last = Preferences.read(path)
    assert (last.model in names, last.instead_of, last.allowed_hosts) == (True, "59", ("box.lan",))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
