"""Asked when something would replace a session whose turn is running."""

from __future__ import annotations

from enum import StrEnum

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class StopAnswer(StrEnum):
    """Whether the running turn may be ended."""

    LET_IT_RUN = "let it run"
    STOP = "stop"


class StopTurnDialog(Dialog[StopAnswer]):
    """The turn goes on by default."""

    def __init__(self, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(
            "A reply is still being written.",
            ["Stopping it keeps what has arrived, marked as stopped."],
            [
                Choice(StopAnswer.LET_IT_RUN, "let it run"),
                Choice(StopAnswer.STOP, "stop it and go on", "s"),
            ],
            glyphs=glyphs,
        )
