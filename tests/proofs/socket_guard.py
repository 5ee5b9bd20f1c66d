"""What a guarded process may reach, written into a ``sitecustomize`` that every Python child loads too.

An audit hook sees each connection, look-up and datagram before it happens, whatever library asks for it;
it writes them down, and refuses what is not allowed. It sees what other programs are started, too.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

_GUARD = """
import json, os, sys

_ALLOWED = {allowed!r}
_TRAIL = {trail!r}
_NETWORK = ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr",
            "socket.getnameinfo", "socket.sendto", "socket.sendmsg", "socket.bind")


def _watch(event, arguments):
    if event in _NETWORK:
        on_socket = event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.bind")
        place = arguments[1] if on_socket else arguments[:2]
        if isinstance(place, (str, bytes)) or place is None:
            return  # a socket of this machine's file system, or of a pair
        place = [str(part) for part in place[:2]]
        _write(event, place)
        if place not in _ALLOWED:
            raise PermissionError(f"the guard refuses {{event}} {{place}}")
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        command = arguments[1] if event == "subprocess.Popen" else arguments[0]
        words = [command] if isinstance(command, (str, bytes)) else list(command)
        _write(event, [os.fsdecode(word) for word in words])


def _write(event, words):
    line = json.dumps([event, words, sys.argv[:3]]) + "\\n"
    descriptor = os.open(_TRAIL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.fchmod(descriptor, 0o600)
    os.write(descriptor, line.encode())
    os.close(descriptor)


sys.addaudithook(_watch)
"""


@dataclass(frozen=True)
class SocketGuard:
    """Put ``folder`` on PYTHONPATH, and read afterwards what was tried."""

    folder: Path
    allowed: tuple[str, int]

    def install(self) -> None:
        """Write the guard's module."""
        self.folder.mkdir()
        host, port = self.allowed
        code = _GUARD.format(allowed=[[host, str(port)]], trail=str(self._trail))
        (self.folder / "sitecustomize.py").write_text(code)

    @property
    def allowed_text(self) -> tuple[str, str]:
        """The one place that may be reached, as ``reached`` has it."""
        return self.allowed[0], str(self.allowed[1])

    @property
    def reached(self) -> set[tuple[str, str]]:
        """Hosts and ports that something tried to reach or look up."""
        return {(words[0], words[1]) for event, words in self._events() if event.startswith("socket.")}

    @property
    def started(self) -> list[list[str]]:
        """The command lines of the programs that were started."""
        return [words for event, words in self._events() if not event.startswith("socket.")]

    @property
    def _trail(self) -> Path:
        return self.folder / "trail"

    def _events(self) -> list[tuple[str, list[str]]]:
        lines = self._trail.read_text().splitlines() if self._trail.exists() else []
        return [(event, words) for event, words, _ in map(json.loads, lines)]
