"""What the program asks of the terminal beyond drawing: room for an editor, and keys as it sends them."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import FrameType

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys

from local_agent.config.private_files import write_private
from local_agent.tui.device.signals import detach_lost_terminal

KILL_AFTER = 0.7
"""Seconds an editor gets to close when the program is told to end."""

_Handler = Callable[[int, FrameType | None], object] | int | None


def know_alt_enter() -> None:
    """Have Alt+Enter break the line in terminals without the Kitty protocol; Textual reads it as Enter."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict)
    ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)


class EditorFailed(Exception):
    """The editor could not be started, or ended with an error; its words are one line for the person."""


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """``$VISUAL``, ``$EDITOR`` or ``vi``, as words. Raises ``EditorFailed`` for an open quote."""
    line = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        return shlex.split(line) or ["vi"]
    except ValueError:
        raise EditorFailed(f"$VISUAL can't be read as a command: {line}") from None


def edit_text(text: str, ending: Ending) -> str:
    """Let the person edit ``text`` in their editor; blocks. The terminal must be theirs already."""
    command = editor_command()
    with tempfile.TemporaryDirectory(prefix="local-agent-") as folder:
        path = Path(folder) / "prompt.md"
        Path(folder).chmod(0o700)
        write_private(path, text.encode("utf-8", "surrogatepass"))
        try:
            process = subprocess.Popen([*command, str(path)])
        except OSError as error:
            raise EditorFailed(f"{command[0]} can't be started: {error.strerror}.") from error
        code = ending.wait(process)
        if code != 0:
            raise EditorFailed(f"{command[0]} ended with exit code {code}; the text is as it was.")
        return path.read_text("utf-8", errors="replace").removesuffix("\n")


class Ending:
    """While the editor has the terminal our loop stands still: passes on what tells us to end.

    To be entered before anything blocks, so that no signal is missed. Our own handlers, which see the
    signal, too, act once the loop runs again.
    """

    def __init__(self) -> None:
        self._told = False
        self._process: subprocess.Popen[bytes] | None = None
        self._closing: threading.Thread | None = None
        self._before: dict[int, _Handler] = {}

    def __enter__(self) -> Ending:
        for name in ("SIGHUP", "SIGTERM"):
            number = getattr(signal, name, None)
            if number is not None:
                self._before[number] = signal.getsignal(number)
                signal.signal(number, self._end)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        """Wait for the editor, and close it when we are told to end; its exit code."""
        self._process = process
        if self._told:
            self._close()
        # With a limit it looks again and again. One long wait for a child is not always cut short by a
        # signal, which another thread may take, and until then no handler of ours would run.
        code = process.wait(threading.TIMEOUT_MAX)
        if self._closing is not None:
            self._closing.join()
        return code

    def _end(self, number: int, frame: FrameType | None) -> None:
        self._told = True
        detach_lost_terminal()
        if self._process is not None:
            self._close()

    def _close(self) -> None:
        if self._closing is None and self._process is not None:
            self._closing = threading.Thread(target=_close_all, args=(self._process.pid,))
            self._closing.start()


def _close_all(root: int) -> None:
    """End a process and what it has started; an editor is often started by a script."""
    pids = [root, *_descendants(root)]
    _signal(pids, signal.SIGTERM)
    deadline = time.monotonic() + KILL_AFTER
    while (pids := _signal(pids, 0)) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal(pids, getattr(signal, "SIGKILL", signal.SIGTERM))


def _descendants(root: int) -> list[int]:
    try:
        listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, timeout=0.3)
    except (OSError, subprocess.TimeoutExpired):
        return []
    children: dict[int, list[int]] = {}
    for line in listed.stdout.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)
    found = [root]
    for each in found:
        found.extend(children.get(each, []))
    return found[1:]


def _signal(pids: list[int], number: int) -> list[int]:
    """Those that were there to get it."""
    there = []
    for pid in pids:
        with suppress(OSError):
            os.kill(pid, number)
            there.append(pid)
    return there
