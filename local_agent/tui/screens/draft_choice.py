"""Asked when a resume meets unsent work."""

from __future__ import annotations

from enum import StrEnum

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class DraftAnswer(StrEnum):
    """What becomes of the composer's text and of the session's own draft."""

    CANCEL = "cancel"
    KEEP_BOTH = "keep both"
    DISCARD_BOTH = "discard both"


class DraftDialog(Dialog[DraftAnswer]):
    """Cancel by default: nothing is opened and nothing is lost."""

    def __init__(self, name: str, *, glyphs: Glyphs = UNICODE) -> None:
        super().__init__(
            "There is unsent text.",
            [f"Opening {name} takes the composer. What you typed can go along or be dropped."],
            [
                Choice(DraftAnswer.CANCEL, "stay here"),
                Choice(DraftAnswer.KEEP_BOTH, "keep both texts", "k"),
                Choice(DraftAnswer.DISCARD_BOTH, "discard both", "d"),
            ],
            glyphs=glyphs,
        )
