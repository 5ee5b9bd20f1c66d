"""The terminal's driver, which survives a stop that it could not see coming."""

from __future__ import annotations

from textual.drivers import linux_driver
from textual.drivers.linux_driver import LinuxDriver

from local_agent.tui.device.input_parser import InputParser

# The driver's thread makes its parser itself.
linux_driver.XTermParser = InputParser  # type: ignore[attr-defined]  # it imports it


class TerminalDriver(LinuxDriver):
    """Leaves the full screen before it enters it again.

    SIGSTOP can't be handled, so the SIGCONT after it finds the screen still ours. Entering it a second time
    would leave a thread on the keyboard that nobody ends, and take the raw terminal for the one to restore.
    """

    def start_application_mode(self) -> None:
        # Leaving may stop us, too: in the background the terminal is not ours to change.
        while self._key_thread is not None and self._key_thread.is_alive():
            self.suspend_application_mode()
        super().start_application_mode()  # type: ignore[no-untyped-call]  # Textual says nothing of it
