"""What is drawn for a terminal that is gone holds up nobody."""

from __future__ import annotations

import os
import threading

from local_agent.tui.device.driver import OutputThread


def test_a_closed_terminal_takes_all_that_is_written() -> None:
    ours, theirs = os.openpty()
    with open(theirs, "w", encoding="utf-8") as file:
        output = OutputThread(file)
        output.start()
        output.write("drawn")
        assert os.read(ours, 5) == b"drawn"
        os.close(ours)

        def draw_and_leave() -> None:
            for number in range(100):
                output.write(f"row {number}")
            output.stop()

        leaving = threading.Thread(target=draw_and_leave, daemon=True)
        leaving.start()
        leaving.join(5)
        assert not leaving.is_alive()
        os.dup2(os.open(os.devnull, os.O_WRONLY), theirs)  # what is left in the buffer goes there
