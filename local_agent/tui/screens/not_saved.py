"""Asked once when the database can't be written."""

from __future__ import annotations

from enum import StrEnum

from local_agent.domain.errors import StoreError
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class NotSavedAnswer(StrEnum):
    """How to go on while nothing reaches the disk."""

    RETRY = "retry"
    GO_ON = "go on unsaved"


class NotSavedDialog(Dialog[NotSavedAnswer]):
    """Retry by default."""

    def __init__(self, error: StoreError, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(
            error.line,
            [
                *([error.hint] if error.hint else []),
                "What you see stays in memory, and is written once that works again.",
            ],
            [
                Choice(NotSavedAnswer.RETRY, "try again"),
                Choice(NotSavedAnswer.GO_ON, "go on unsaved", "u"),
            ],
            glyphs=glyphs,
        )
