"""Ends the program when it is told to: turn stopped, terminal restored, gone within two seconds."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Callable

DEADLINE_SECONDS = 1.7
"""Less than two: a signal may come while the screen is busy, and the end takes its time, too."""
_RESTORE = (
    "\x1b[?1000l\x1b[?1003l\x1b[?1015l\x1b[?1006l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l"
    "\x1b[<u\x1b[?25h\x1b[?7h\x1b[0m\x1b[?1049l"
)
"""Undoes every mode that Textual sets, in case it can't do so itself any more."""


class EndSignals:
    """Watches HUP, TERM and INT. ``end`` gets the exit code, once; a deadline runs beside it."""

    def __init__(self, end: Callable[[int], None]) -> None:
        self._end = end
        self._ending = False
        self._attributes = _terminal_attributes()

    def watch(self) -> None:
        """Install the handlers on the running loop, where the platform has them."""
        loop = asyncio.get_running_loop()
        for name in ("SIGHUP", "SIGTERM", "SIGINT"):
            number = getattr(signal, name, None)
            if number is not None and sys.platform != "win32":
                loop.add_signal_handler(number, self.received, number)

    def received(self, number: int) -> None:
        """End now; a second signal changes nothing."""
        if self._ending:
            return
        self._ending = True
        if self._attributes is not None:
            detach_lost_terminal()
        code = 128 + number
        deadline = threading.Timer(DEADLINE_SECONDS, self._leave_at_once, (code,))
        deadline.daemon = True
        deadline.start()
        self._end(code)

    def _leave_at_once(self, code: int) -> None:
        """The orderly way took too long, or hangs on a terminal that is gone."""
        if self._attributes is not None:
            import termios  # not on Windows, where there are no attributes either

            try:
                os.write(sys.__stdout__.fileno() if sys.__stdout__ else 1, _RESTORE.encode("ascii"))
                termios.tcsetattr(0, termios.TCSANOW, self._attributes)
            except (OSError, termios.error, ValueError):
                pass
        os._exit(code)


def detach_lost_terminal() -> None:
    """Where the terminal is gone, what is still drawn goes nowhere, and holds up nobody on the way out."""
    if _terminal_attributes() is not None:
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for descriptor in (1, 2):
        os.dup2(nowhere, descriptor)
    os.close(nowhere)


def _terminal_attributes() -> list[int | list[bytes | int]] | None:
    """How the terminal was before we changed it; None where there is none."""
    if sys.platform == "win32":
        return None
    import termios

    try:
        return termios.tcgetattr(0)
    except (OSError, termios.error):
        return None
