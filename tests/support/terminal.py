"""Runs a program in a real pseudo-terminal and drives it as a person does.

    with Terminal(["--resume", "latest"], cwd=folder, env=environment) as terminal:
        terminal.wait_for("resume me")
        terminal.send("hello", Key.ENTER)
        terminal.wait_for(lambda shown: "Hi" in shown.text)
        terminal.send("/exit", Key.ENTER)
        assert terminal.wait_exit() == 0
        terminal.assert_restored()

The program is started as the leader of a session whose controlling terminal is the pseudo-terminal, so
signals, hang-ups and resizes reach it the way they do from a terminal window. A thread keeps reading, as
a terminal does; without it a program that draws would block. What is on screen is kept by ``Emulator``,
which has every raw byte too. Waiting is always for a state, with a timeout; a wait that fails shows the
screen it saw.
"""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import TracebackType

from tests.support.emulator import MODES_AT_REST, Emulator
from tests.support.processes import session_members

ROOT = Path(__file__).parents[2]
WAIT = 15.0
# Becomes the leader's program after the terminal is its controlling one; Popen's preexec_fn is not safe
# in a process that has threads.
_LAUNCH = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


class Key(StrEnum):
    """What a terminal sends for the keys that are no letters."""

    ENTER = "\r"
    ESCAPE = "\x1b"
    TAB = "\t"
    BACKSPACE = "\x7f"
    UP = "\x1b[A"
    DOWN = "\x1b[B"
    RIGHT = "\x1b[C"
    LEFT = "\x1b[D"
    HOME = "\x1b[H"
    END = "\x1b[F"
    PAGE_UP = "\x1b[5~"
    PAGE_DOWN = "\x1b[6~"
    F1 = "\x1bOP"
    F2 = "\x1bOQ"
    F3 = "\x1bOR"
    F4 = "\x1bOS"
    F8 = "\x1b[19~"
    CTRL_C = "\x03"
    CTRL_D = "\x04"
    CTRL_G = "\x07"
    CTRL_O = "\x0f"
    CTRL_P = "\x10"
    CTRL_Q = "\x11"
    CTRL_S = "\x13"


Condition = str | tuple[str, ...] | Callable[[Emulator], bool]


class Terminal:
    """One run of ``python -m local_agent`` (or of ``program``) in a terminal of ``size`` columns, rows."""

    def __init__(
        self,
        arguments: Sequence[str] = (),
        *,
        env: Mapping[str, str],
        cwd: Path,
        size: tuple[int, int] = (80, 24),
        program: Sequence[str] = (sys.executable, "-m", "local_agent"),
    ) -> None:
        self._shown = Emulator(*size)
        self._changed = threading.Condition()
        self._master, self._slave = pty.openpty()
        self._hung_up = False
        self._set_size(*size)
        self._attributes = termios.tcgetattr(self._slave)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _LAUNCH, *program, *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            cwd=cwd,
            env={"PYTHONPATH": str(ROOT), **env, "TERM": "xterm-256color"},
            start_new_session=True,
        )
        self._stopping = threading.Event()
        self._reader = threading.Thread(target=self._read, name="terminal", daemon=True)
        self._reader.start()

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in session_members(self.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        self.process.wait(WAIT)
        self._stopping.set()
        self._reader.join()
        if not self._hung_up:
            os.close(self._master)
        os.close(self._slave)

    @property
    def text(self) -> str:
        """All rows on screen now."""
        with self._changed:
            return self._shown.text

    @property
    def lines(self) -> list[str]:
        """The rows on screen now, without trailing blanks."""
        with self._changed:
            return self._shown.lines

    @property
    def raw(self) -> bytes:
        """Every byte the program has written."""
        with self._changed:
            return bytes(self._shown.raw)

    @property
    def clipboard(self) -> list[bytes]:
        """What was copied through the terminal (OSC 52), in base64."""
        with self._changed:
            return list(self._shown.clipboard)

    def wait_for(self, condition: Condition, timeout: float = WAIT) -> str:
        """Wait until texts are on screen or a predicate of the ``Emulator`` holds; returns the screen.

        A screen is painted in pieces: who wants several texts of it waits for all of them.
        """
        wanted = condition if callable(condition) else None
        texts = (condition,) if isinstance(condition, str) else () if callable(condition) else condition

        def holds() -> bool:
            return wanted(self._shown) if wanted else all(text in self._shown.text for text in texts)

        with self._changed:
            if not self._changed.wait_for(holds, patience(timeout)):
                what = "a state" if wanted else repr(condition)
                raise AssertionError(
                    f"{what} did not come within {timeout} s; on screen:\n{self._shown.text}"
                )
            return self._shown.text

    def wait_for_bytes(self, wanted: bytes, timeout: float = WAIT) -> None:
        """Wait until the program has written these bytes."""
        self.wait_for(lambda shown: wanted in shown.raw, timeout)

    def send(self, *keys: str) -> None:
        """Type text and keys."""
        os.write(self._master, "".join(keys).encode())

    def send_slowly(self, *keys: str) -> None:
        """Type one character at a time, each after the screen answered the one before (or 0.2 s passed)."""
        for key in "".join(keys):
            with self._changed:
                self.send(key)
                self._changed.wait(0.2)

    def paste(self, text: str) -> None:
        """Paste as terminals with bracketed paste do."""
        self.send("\x1b[200~", text, "\x1b[201~")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the window; the kernel tells the program."""
        with self._changed:
            self._shown.resize(columns, rows)
        self._set_size(columns, rows)

    def hangup(self) -> None:
        """Close the terminal's window: the program gets SIGHUP and its terminal is gone."""
        self._stopping.set()
        self._reader.join()
        self._hung_up = True
        os.close(self._master)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the program."""
        self.process.send_signal(number)

    def wait_exit(self, timeout: float = WAIT) -> int:
        """Wait for the end and for its last bytes; returns the exit code (negative: the signal)."""
        try:
            code = self.process.wait(patience(timeout))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {timeout} s; on screen:\n{self.text}") from None
        self._stopping.set()
        self._reader.join()
        return code

    def assert_restored(self) -> None:
        """After an exit: the terminal is as it was before, and nothing the program started still runs."""
        with self._changed:
            changed = sorted(self._shown.modes ^ MODES_AT_REST)
            assert not changed, f"terminal modes left changed: {changed}"
            assert self._shown.keyboard_depth == 0, "the keyboard protocol was not popped"
        assert termios.tcgetattr(self._slave) == self._attributes, "the line discipline was not restored"
        self.assert_no_child()

    def assert_no_child(self) -> None:
        """Nothing that the program started in its session still runs."""
        left = session_members(self.process.pid)
        assert not left, f"processes left behind: {left}"

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def _read(self) -> None:
        while True:
            # Asked before reading: bytes written before a stop are read after it.
            stopping = self._stopping.is_set()
            ready, _, _ = select.select([self._master], [], [], 0 if stopping else 0.05)
            if not ready:
                if stopping:
                    return
                continue
            try:
                data = os.read(self._master, 65536)
            except OSError:
                return
            with self._changed:
                self._shown.feed(data)
                self._changed.notify_all()


def patience(seconds: float) -> float:
    """A limit in seconds, stretched while the machine has more to do than processors to do it."""
    return seconds * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def until(condition: Callable[[], object], timeout: float = WAIT, what: str = "") -> None:
    """Wait until ``condition`` holds, looking every 20 ms."""
    deadline = time.monotonic() + patience(timeout)
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what or 'a state'} did not come within {timeout} s")
        time.sleep(0.02)
