"""What identifies a process beyond its number, and whether it still lives."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from local_agent.domain.text import normalise


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process number alone is used again; with its start, machine and boot it is not."""

    pid: int
    process_start: str
    machine_id: str
    boot_id: str

    def alive(self) -> bool:
        """False only for a process that is known to be gone; one on another machine can't be asked."""
        here = this_process()
        if self == here:
            return True
        if self.machine_id != here.machine_id:
            return True
        if self.boot_id != here.boot_id or not _exists(self.pid):
            return False
        return self.process_start == start_of(self.pid)


@cache
def _identity(pid: int) -> ProcessIdentity:
    return ProcessIdentity(pid, start_of(pid), _machine_id(), _boot_id())


def this_process() -> ProcessIdentity:
    """The process that asks; a forked child is another one."""
    return _identity(os.getpid())


def host_name() -> str:
    """For display only."""
    return normalise(platform.node())


def terminal_name() -> str:
    """The terminal of this process for display, or empty."""
    try:
        return normalise(os.ttyname(0))
    except (AttributeError, OSError):
        return ""


def _exists(pid: int) -> bool:
    if sys.platform == "win32":
        return True  # there, asking with signal 0 would interrupt the process
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def start_of(pid: int) -> str:
    """When a process began, in whatever unit the system counts; empty when it ended or can't be known."""
    if sys.platform.startswith("linux"):
        try:
            # The command's name stands in brackets and may hold blanks; the start is the 22nd field.
            fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
            # A zombie has ended; only its parent has not asked yet how.
            return "" if fields[0] in "ZX" else fields[19]
        except (OSError, IndexError):
            return ""
    return _output("ps", "-o", "lstart=", "-p", str(pid))


def _machine_id() -> str:
    for source in ("/etc/machine-id", "/var/lib/dbus/machine-id"):
        try:
            found = Path(source).read_text("utf-8", "replace").strip()
        except OSError:
            continue
        if found:
            return found
    return _output("sysctl", "-n", "kern.uuid") if sys.platform == "darwin" else host_name()


def _boot_id() -> str:
    if sys.platform == "darwin":
        return _output("sysctl", "-n", "kern.bootsessionuuid")
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def _output(*command: str) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=2, check=False)
    except (OSError, subprocess.SubprocessError, ValueError):
        return ""
    return done.stdout.strip()
