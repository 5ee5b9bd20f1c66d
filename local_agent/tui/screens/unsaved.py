"""Asked when a conversation can't be saved any more."""

from __future__ import annotations

from enum import StrEnum

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class UnsavedAnswer(StrEnum):
    """How to go on while the database can't be written."""

    RETRY = "retry"
    GO_ON = "go on unsaved"


class UnsavedDialog(Dialog[UnsavedAnswer]):
    """Retry by default."""

    def __init__(self, line: str, hint: str, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(
            f"Not saved: {line}",
            [
                *([hint] if hint else []),
                "What is asked and answered waits in memory and is written as soon as that works.",
            ],
            [Choice(UnsavedAnswer.RETRY, "try again"), Choice(UnsavedAnswer.GO_ON, "go on unsaved", "u")],
            glyphs=glyphs,
        )
