"""Runs one command, and ends it with everything it started as soon as whoever wanted it is gone.

A script of its own that needs nothing but the standard library (``python -I -S watcher.py COMMAND...``),
so that it starts fast and outlives what it watches over. Its descriptors are its whole interface:

0  control, read: ``g`` lets the command begin; ``s`` ends it quickly, ``t`` with more patience; end of file
   is the death of the other side, and ends it like ``t``.
1  reports, written, a line each: ``ready PID`` (nothing has run; the process is its group's leader and stays
   the same one), ``failed ERRNO`` (it can't be started), ``ended STATUS`` (a wait status; what it left
   behind may still run), ``gone LEFT REMAINING`` (the last: how many processes it had left behind, and how
   many of them could not be ended).
2  output, written by the command as its standard output and error.

On Linux whatever the command forks is found again, however it detaches itself: orphans fall to the watcher.
Elsewhere it is the process group and what ``ps`` shows below it; a daemon that has left both is not found.
What another service starts on the command's behalf (cron, systemd, docker) is nobody's here.
"""

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress

GRACE = 0.3
"""Seconds from TERM to KILL."""
HASTY_GRACE = 0.08
"""The same while a person waits."""
LEFTOVER_SECONDS = 0.2
"""How long what a command has left behind may take to end by itself."""
GIVEN_UP_SECONDS = 1.5
"""After KILL; who is not gone then can't be ended."""
CONTROL, REPORTS, OUTPUT = 0, 1, 2

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def _prctl(option: int, value: int) -> bool:
    """Linux's own switch for a process; False where there is none."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes  # 5 ms that other systems needn't wait for

    try:
        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (OSError, AttributeError):
        return False


class Watch:
    """One command, from before it begins until nothing of it is left."""

    def __init__(self, command: list[str]) -> None:
        self._adopts = _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        self._woken, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self._woken, False)
        # What is meant for the command reaches it through us, and by our own rules.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        begin, self._begin = os.pipe()
        watcher = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            os.close(self._begin)
            _become(command, begin, watcher)
        os.close(begin)
        self._status: int | None = None
        self._asked: bytes | None = None

    def run(self) -> None:
        """Wait for the word, then for the end."""
        word = None
        while word is None and not self._gone():
            word = self._control(None)
        if word == b"g":
            with suppress(OSError):  # somebody has killed it already
                os.write(self._begin, b"g")
        elif word is not None:
            self._asked = word
        os.close(self._begin)
        self._until(lambda: self._status is not None)
        if self._asked is None:
            self._until(self._gone, time.monotonic() + LEFTOVER_SECONDS)
        left = 0 if self._asked is not None or self._gone() else len(self._found())
        self._end()
        _report(f"gone {left} {0 if self._gone() else max(1, len(self._found()))}")

    def _end(self) -> None:
        """TERM, and KILL as long as somebody is there."""
        if self._gone():
            return
        self._kill(signal.SIGTERM)
        grace = HASTY_GRACE if self._asked == b"s" else GRACE
        self._wait(self._gone, time.monotonic() + grace)
        given_up = time.monotonic() + GIVEN_UP_SECONDS
        while not self._gone() and time.monotonic() < given_up:
            self._kill(signal.SIGKILL)
            self._wait(self._gone, time.monotonic() + 0.02)

    def _kill(self, number: int) -> None:
        # Once its leader is reaped, a group's number may come to belong to somebody else; where orphans
        # fall to us, it is not needed any more either.
        if self._status is None or not self._adopts:
            with suppress(OSError):
                os.killpg(self._pid, number)
        for pid in self._found():
            with suppress(OSError):  # gone meanwhile, or another person's by now: sudo
                os.kill(pid, number)

    def _found(self) -> list[int]:
        """The processes below this one; where orphans don't fall to us, the rest of the group as well."""
        below: dict[int, list[int]] = {}
        found: dict[int, None] = {}
        for pid, parent, leader in _processes():
            below.setdefault(parent, []).append(pid)
            if leader == self._pid and not self._adopts:
                found[pid] = None
        look = [os.getpid()]
        while look:
            children = [pid for pid in below.get(look.pop(), ()) if pid not in found]
            found.update(dict.fromkeys(children))
            look.extend(children)
        return list(found)

    def _gone(self) -> bool:
        """True when nothing is left: no child, and where orphans don't fall to us, nobody in the group."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                return False
            if pid == self._pid and self._status is None:
                self._status = status
                _report(f"ended {status}")
        return self._adopts or not self._found()

    def _until(self, done: Callable[[], bool], until: float | None = None) -> None:
        """Wait for ``done``, or the time, or a word on the control pipe."""
        while self._asked is None and not self._gone() and not done():
            left = None if until is None else until - time.monotonic()
            if left is not None and left <= 0:
                return
            self._asked = self._control(left)

    def _control(self, seconds: float | None) -> bytes | None:
        """The next word; None when the time is over, or a child has ended."""
        ready, _, _ = select.select([CONTROL, self._woken], [], [], seconds)
        self._drain()
        return os.read(CONTROL, 1) if CONTROL in ready else None

    def _wait(self, done: Callable[[], bool], until: float) -> None:
        """Wait for ``done`` or the time, whatever is said meanwhile."""
        while not done() and (left := until - time.monotonic()) > 0:
            select.select([self._woken], [], [], left)
            self._drain()

    def _drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._woken, 4096)


def _become(command: list[str], begin: int, watcher: int) -> None:
    """In the child: a session and group of its own, the word awaited, then the command."""
    number = 127
    try:
        os.setsid()
        reports = os.dup(REPORTS)  # closed by exec
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.dup2(OUTPUT, 1)
        signal.set_wakeup_fd(-1)
        for each in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            with suppress(OSError):  # the C library keeps some for itself
                signal.signal(each, signal.SIG_DFL)
        # Whoever kills the watcher ends the command at least; then nothing is left to find the rest.
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        os.write(reports, f"ready {os.getpid()}\n".encode())
        if os.getppid() != watcher or os.read(begin, 1) != b"g":
            os._exit(number)
        try:
            os.execvp(command[0], command)
        except OSError as error:
            os.write(reports, f"failed {error.errno}\n".encode())
    finally:
        os._exit(number)


def _report(line: str) -> None:
    with suppress(OSError):  # nobody listens any more: ending everything is all the more due
        os.write(REPORTS, f"{line}\n".encode())


def _processes() -> list[tuple[int, int, int]]:
    """Process id, parent and group of all that lives."""
    if not os.path.exists("/proc/self/stat"):
        return _listed_by_ps()
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as stat:
                    # The name in parentheses may hold blanks and parentheses of its own.
                    state, parent, group = stat.read().rpartition(b")")[2].split()[:3]
            except (OSError, ValueError):
                continue
            if state not in b"ZX":
                found.append((int(name), int(parent), int(group)))
    return found


def _listed_by_ps() -> list[tuple[int, int, int]]:
    import subprocess  # 10 ms that only an end with somebody left costs

    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,stat="]
    try:
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ps:
            listed = ps.communicate()[0]
    except OSError:
        return []
    rows = [line.split() for line in listed.splitlines()]
    return [
        (int(pid), int(parent), int(group))
        for pid, parent, group, state, *_ in rows
        if state[0] not in "ZX" and int(pid) != ps.pid
    ]


if __name__ == "__main__":
    Watch(sys.argv[1:]).run()
    os._exit(0)  # there is nothing to tidy up, and somebody waits
