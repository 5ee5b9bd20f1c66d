"""What is said of a command: to the model, to the person, and while it runs."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from local_agent.domain.tools import ResultStatus
from local_agent.tools.output import HEAD_SHARE, byte_length
from local_agent.tools.shell.collecting import Collected
from local_agent.tools.shell.commands import Cause, Command
from local_agent.tools.shell.reading import clean, is_binary

STANDS = "effects until then stand"
NOTES = 640
"""Bytes of a result that are left for what is said about it."""
SHOWN_EVERY = 0.1
SHOWN_AT_ONCE = 16 * 1024


def seconds_words(seconds: float) -> str:
    """``0.2 s``, ``12 s``, ``3 min 20 s``."""
    if seconds < 59.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def status_of(command: Command) -> ResultStatus:
    """How an ended command counts."""
    assert command.ending is not None
    if not command.ending.reaped:
        return ResultStatus.UNCERTAIN
    if command.cause is not Cause.ITSELF:
        return ResultStatus.CANCELLED
    return ResultStatus.OK if command.ending.exit_code == 0 else ResultStatus.FAILED


def ending_line(command: Command) -> str:
    """How it stands with a command, one line."""
    took = seconds_words(command.seconds)
    ending = command.ending
    if ending is None:
        return f"running for {took}"
    if not ending.reaped:
        return f"not ended after {took}: {ending.remaining} of its processes can't be killed"
    match command.cause:
        case Cause.STOP:
            return f"stopped after {took}; {STANDS}"
        case Cause.LIMIT:
            return f"stopped after {took}, its time limit; {STANDS}"
        case Cause.EXIT:
            return f"stopped after {took}, when the conversation was closed; {STANDS}"
    line = f"exit code {exit_words(ending.exit_code)} after {took}"
    return f"{line}; {left_words(ending.left)}" if ending.left else line


def summary_of(command: Command) -> str:
    """How a command ended, for a line that says what it was and how long it took."""
    assert command.ending is not None
    if not command.ending.reaped:
        return "could not be ended"
    if command.cause is Cause.ITSELF:
        return f"exit {exit_words(command.ending.exit_code)}"
    return "stopped at its time limit" if command.cause is Cause.LIMIT else "stopped"


def exit_words(code: int | None) -> str:
    """An exit code, and the signal that it stands for."""
    if code is None:
        return "unknown"
    if code > 128:
        with suppress(ValueError):
            return f"{code} ({signal.Signals(code - 128).name})"
    return str(code)


def left_words(left: int) -> str:
    """What became of what a command had left behind."""
    which = "a process that it had left running was" if left == 1 else f"{left} processes left running were"
    return f"{which} ended (background=true keeps a command running)"


def output_text(output: Collected, id: str, limit: int) -> tuple[str, bool]:
    """The output in ``limit`` bytes, its middle left out where it is longer; whether it was."""
    if not output.size:
        return "(no output)", False
    first = output.beginning(limit)
    if is_binary(output.whole):
        return f"(binary output, {output.size:,} bytes)", True
    if first.used == output.size:
        return first.text, False
    first = output.beginning(int(limit * HEAD_SHARE))
    last = output.end(limit - byte_length(first.text))
    left = max(0, output.size - first.used - last.used)
    note = (
        f"[{left:,} of {output.size:,} bytes ({output.breaks:,} lines in all) are left out here: "
        f'bash_output id="{id}" offset={first.used} reads on]\n'
    )
    return first.text + note + last.text, True


class Shown:
    """Passes output on as text, ten times a second at most, with what can't be shown in time left out."""

    def __init__(self, progress: Callable[[str], None]) -> None:
        self._progress = progress
        self._waiting = b""
        self._timer: asyncio.TimerHandle | None = None

    def feed(self, data: bytes) -> None:
        """More output."""
        self._waiting += data
        if len(self._waiting) > 2 * SHOWN_AT_ONCE:
            last = self._waiting[-SHOWN_AT_ONCE:]
            self._waiting = b"[...]\n" + last[last.find(b"\n") + 1 :]
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(SHOWN_EVERY, self._pass_on)

    def finish(self) -> None:
        """No more will come."""
        if self._timer is not None:
            self._timer.cancel()
        if self._waiting:
            self._progress(clean(self._waiting))

    def _pass_on(self) -> None:
        self._timer = None
        # An unfinished line may be written over yet, or end within a character or a sequence.
        end = self._waiting.rfind(b"\n") + 1
        last = self._waiting[end:]
        if last.isascii() and b"\r" not in last and b"\x1b" not in last:
            end = len(self._waiting)
        text, self._waiting = clean(self._waiting[:end]), self._waiting[end:]
        if text:
            self._progress(text)
