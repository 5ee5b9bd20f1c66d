"""The wheel that people install: it holds what the program needs, and runs from a folder of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import local_agent

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built as ``pip install .`` builds it."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)],
        check=True,
        stdin=subprocess.DEVNULL,
    )
    [built] = folder.glob("*.whl")
    return built


def test_holds_every_module_style_and_migration(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = set(archive.namelist())
    for path in (ROOT / "local_agent").rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.relative_to(ROOT).as_posix() in packed
    for path in (ROOT / "migrations").rglob("*.py*"):
        if "__pycache__" not in path.parts and path.suffix != ".pyc":
            assert f"local_agent/_migrations/{path.relative_to(ROOT / 'migrations').as_posix()}" in packed
    assert not [name for name in packed if name.startswith(("tests/", "screenshots/"))]
    assert not [name for name in packed if "__pycache__" in name]


def test_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    unpacked = tmp_path / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(unpacked)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(unpacked),
        "HOME": str(tmp_path),
        "LOCAL_AGENT_HOME": str(tmp_path / "home"),
    }
    where = "import local_agent; print(local_agent.__file__)"
    for arguments, expected in (
        (["-c", where], str(unpacked)),
        (["-m", "local_agent", "--version"], local_agent.__version__),
        (["-m", "local_agent", "session", "list", "--json"], "[]"),
    ):
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout
