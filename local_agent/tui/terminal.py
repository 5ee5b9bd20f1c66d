"""What the program asks of the terminal beyond drawing: the clipboard, and room for an editor."""

from __future__ import annotations

import base64
import os
import shlex
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.keys import Keys

KILL_AFTER = 1.0
"""Seconds an editor gets to close when the program is told to end."""

_Handler = Callable[[int, FrameType | None], object] | int | None


def know_alt_enter() -> None:
    """Have Alt+Enter break the line in terminals without the Kitty protocol; Textual reads it as Enter."""
    assert isinstance(ANSI_SEQUENCES_KEYS, dict)
    ANSI_SEQUENCES_KEYS["\x1b\r"] = (Keys.ControlJ,)


class EditorFailed(Exception):
    """The editor could not be started, or ended with an error; its words are one line for the person."""


def tmux_passthrough(text: str, environment: Mapping[str, str] = os.environ) -> str:
    """OSC 52 wrapped so that tmux hands it on to the terminal it runs in; empty outside tmux."""
    if not environment.get("TMUX"):
        return ""
    payload = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    return f"\x1bPtmux;\x1b\x1b]52;c;{payload}\x07\x1b\\"


def editor_command(environment: Mapping[str, str] = os.environ) -> list[str]:
    """``$VISUAL``, ``$EDITOR`` or ``vi``, as words. Raises ``EditorFailed`` for an open quote."""
    line = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        return shlex.split(line) or ["vi"]
    except ValueError:
        raise EditorFailed(f"$VISUAL can't be read as a command: {line}") from None


def edit_text(text: str) -> str:
    """Let the person edit ``text`` in their editor; blocks. The terminal must be theirs already."""
    command = editor_command()
    with tempfile.TemporaryDirectory(prefix="local-agent-") as folder:
        path = Path(folder) / "prompt.md"
        path.write_text(text, "utf-8", errors="surrogatepass")
        try:
            process = subprocess.Popen([*command, str(path)])
        except OSError as error:
            raise EditorFailed(f"{command[0]} can't be started: {error.strerror}.") from error
        with _ends_with_us(process):
            code = process.wait()
        if code != 0:
            raise EditorFailed(f"{command[0]} ended with exit code {code}; the text is as it was.")
        return path.read_text("utf-8", errors="replace").removesuffix("\n")


@contextmanager
def _ends_with_us(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """While the editor has the terminal our loop stands still: pass on what tells us to end."""

    def end(number: int, frame: FrameType | None) -> None:
        process.terminate()
        killer = threading.Timer(KILL_AFTER, process.kill)
        killer.daemon = True
        killer.start()

    numbers = [getattr(signal, name) for name in ("SIGHUP", "SIGTERM") if hasattr(signal, name)]
    before: dict[int, _Handler] = {number: signal.getsignal(number) for number in numbers}
    for number in numbers:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
