"""The terminal's driver, which survives a stop that it could not see coming."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from typing import IO, Any, cast

from textual import events
from textual.drivers import linux_driver
from textual.drivers._writer_thread import WriterThread
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Size

from local_agent.tui.device.input_parser import InputParser


class _LostOutput:
    """A terminal's file that takes everything, also when the terminal is gone."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> None:
        with suppress(OSError):
            self._file.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._file.flush()

    def fileno(self) -> int:
        return self._file.fileno()


class OutputThread(WriterThread):
    """Goes on when the terminal is gone.

    Textual's own ends with the first write that fails: who writes then, or leaves, waits for room in its
    queue for ever.
    """

    def __init__(self, file: IO[str]) -> None:
        super().__init__(cast(IO[str], _LostOutput(file)))


# The driver makes both itself.
_driver: Any = linux_driver
_driver.XTermParser = InputParser
_driver.WriterThread = OutputThread


class TerminalDriver(LinuxDriver):
    """Leaves the full screen before it enters it again, and tells the newest size of a burst last.

    SIGSTOP can't be handled, so the SIGCONT after it finds the screen still ours. Entering it a second time
    would leave a thread on the keyboard that nobody ends, and take the raw terminal for the one to restore.
    """

    def start_application_mode(self) -> None:
        # Leaving may stop us, too: in the background the terminal is not ours to change.
        while self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual says nothing of it
        # Textual's handler reads the size itself. A signal that comes in the midst of one handler is handled
        # first, and the older size is told last.
        loop = asyncio.get_running_loop()
        signal.signal(signal.SIGWINCH, lambda *_: loop.call_soon_threadsafe(self._tell_size))

    def _tell_size(self) -> None:
        if not self._in_band_window_resize:
            size = Size(*self._get_terminal_size())
            self._app.post_message(events.Resize(size, size))
            # Smaller and back again in one burst: nothing to lay out, but the terminal has lost its cells.
            self._app.refresh()
