"""Asked when the database can't be opened."""

from __future__ import annotations

from enum import StrEnum

from local_agent.domain.errors import StoreError
from local_agent.tui.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class NotSavedAnswer(StrEnum):
    """How to go on while nothing can be kept."""

    RETRY = "retry"
    GO_ON = "go on unsaved"
    LEAVE = "leave"


class NotSavedDialog(Dialog[NotSavedAnswer]):
    """Retry by default."""

    def __init__(self, error: StoreError, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(
            error.line,
            [
                *([error.hint] if error.hint else []),
                "Unsaved, a conversation lasts until you leave, and stored ones can't be read.",
            ],
            [
                Choice(NotSavedAnswer.RETRY, "try again"),
                Choice(NotSavedAnswer.GO_ON, "go on unsaved", "u"),
                Choice(NotSavedAnswer.LEAVE, "leave", "l"),
            ],
            glyphs=glyphs,
        )
