"""The picture that is in the desktop's clipboard, through whatever tool of the desktop can give it."""

from __future__ import annotations

import os
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence

from local_agent.domain.errors import LocalAgentError, UsageError
from local_agent.objects.reading import MAX_BYTES, megabytes

TOOL_SECONDS = 3.0
"""How long one tool may take; who owns the clipboard on X11 may have hung."""
_LIST_BYTES = 64 * 1024
_TYPES = ("image/png", "image/jpeg", "image/webp", "image/gif")
"""In the order of preference."""
_APPLE_SCRIPT = "get the clipboard as «class PNGf»"
_APPLE_PREFIX, _APPLE_SUFFIX = "«data PNGf".encode(), "»".encode()
_PIECE = 1 << 16

Reader = Callable[[float], bytes]


def read_picture(environment: Mapping[str, str] = os.environ) -> bytes | None:
    """The picture's bytes, not checked yet; None while there is none. Blocks for some seconds at most.

    ``LocalAgentError`` when no tool is there, when it hangs, and for more than a picture may have.
    """
    read = _reader(environment)
    if read is None:
        raise UsageError(
            "No tool here can read the clipboard.",
            "Install wl-clipboard (Wayland) or xclip (X11), or name a file: /image PATH",
        )
    return read(time.monotonic() + TOOL_SECONDS) or None


def _reader(environment: Mapping[str, str]) -> Reader | None:
    """The first tool that fits this desktop and is installed."""
    path = environment.get("PATH")
    if sys.platform == "darwin":
        if shutil.which("pngpaste", path=path):
            return lambda until: _output(["pngpaste", "-"], environment, until)
        return lambda until: _from_apple_script(environment, until)
    if environment.get("WAYLAND_DISPLAY") and shutil.which("wl-paste", path=path):
        listed, given = ["wl-paste", "--list-types"], ["wl-paste", "--no-newline", "--type"]
        return lambda until: _of_a_type(listed, given, environment, until)
    if environment.get("DISPLAY") and shutil.which("xclip", path=path):
        tool = ["xclip", "-selection", "clipboard", "-out", "-target"]
        return lambda until: _of_a_type([*tool, "TARGETS"], tool, environment, until)
    return None


def _of_a_type(
    listed: Sequence[str],
    given: Sequence[str],
    environment: Mapping[str, str],
    until: float,
) -> bytes:
    offered = _output(listed, environment, until, limit=_LIST_BYTES).decode("utf-8", "replace").split()
    wanted = next((kind for kind in _TYPES if kind in offered), None)
    return _output([*given, wanted], environment, until) if wanted is not None else b""


def _from_apple_script(environment: Mapping[str, str], until: float) -> bytes:
    # It comes as hexadecimal, two characters a byte.
    limit = 2 * MAX_BYTES + 64
    said = _output(["osascript", "-e", _APPLE_SCRIPT], environment, until, limit=limit).strip()
    digits = said.removeprefix(_APPLE_PREFIX).removesuffix(_APPLE_SUFFIX)
    try:
        return bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        return b""


def _output(
    command: Sequence[str], environment: Mapping[str, str], until: float, *, limit: int = MAX_BYTES
) -> bytes:
    """What a tool writes; nothing when it fails, which is how all of them say that there is no picture."""
    try:
        tool = subprocess.Popen(
            command,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise LocalAgentError(f"{command[0]} can't be started: {error.strerror}.") from error
    try:
        data = _read(tool, command[0], limit, until)
        return data if tool.wait(max(0.0, until - time.monotonic())) == 0 else b""
    except subprocess.TimeoutExpired:
        raise _hangs(command[0]) from None
    finally:
        tool.kill()
        tool.wait()
        if tool.stdout is not None:
            tool.stdout.close()


def _read(tool: subprocess.Popen[bytes], name: str, limit: int, until: float) -> bytes:
    assert tool.stdout is not None
    pieces: list[bytes] = []
    size = 0
    while True:
        ready, _, _ = select.select([tool.stdout], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise _hangs(name)
        piece = os.read(tool.stdout.fileno(), _PIECE)
        if not piece:
            return b"".join(pieces)
        pieces.append(piece)
        size += len(piece)
        if size > limit:
            raise UsageError(f"The picture in the clipboard has more than {megabytes(MAX_BYTES)}.")


def _hangs(name: str) -> LocalAgentError:
    return LocalAgentError(
        f"{name} has not given the clipboard within {TOOL_SECONDS:g} seconds.", "Copy it again."
    )
