"""What runs on this machine, as far as a test needs to know it."""

from __future__ import annotations

import subprocess
from pathlib import Path


def session_members(leader: int) -> list[int]:
    """The processes of the kernel session that ``leader`` leads or led; zombies don't count."""
    return [pid for pid, session, state in _processes() if session == leader and state[:1] not in "ZX"]


def _processes() -> list[tuple[int, int, str]]:
    """Process id, kernel session and state of everything that runs."""
    proc = Path("/proc/self/stat")
    if not proc.exists():
        listed = subprocess.run(
            ["ps", "-axo", "pid=,sess=,stat="], capture_output=True, text=True, check=True
        )
        rows = (line.split() for line in listed.stdout.splitlines())
        return [(int(pid), int(session), state) for pid, session, state in rows]
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name in parentheses may hold blanks and parentheses of its own.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found.append((int(folder.name), int(fields[3]), fields[0]))
    return found
