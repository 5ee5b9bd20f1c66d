"""Asked once where a project seems to have moved: whether its sessions come along."""

from __future__ import annotations

from enum import StrEnum

from local_agent.domain.sessions import RecordedFolder
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.screens.dialog import Choice, Dialog


class MovedAnswer(StrEnum):
    """What becomes of the old folder's sessions."""

    LATER = "later"
    BRING = "bring"
    LEAVE = "leave"


class MovedDialog(Dialog[MovedAnswer]):
    """Later by default."""

    def __init__(self, old: RecordedFolder, *, glyphs: Glyphs = UNICODE) -> None:
        sessions = counted(old.sessions, "session")
        super().__init__(
            "Has this project moved?",
            [
                f"{old.root} is gone, and its Git repository began with the same commit as the one here.",
                f"{sessions} of it can be brought here, with drafts and notes; "
                "what was allowed there is asked about again.",
            ],
            [
                Choice(MovedAnswer.LATER, "ask me at the next start"),
                Choice(MovedAnswer.BRING, f"bring {'it' if old.sessions == 1 else 'them'} here", "b"),
                Choice(MovedAnswer.LEAVE, "it is another project: don't ask again", "n"),
            ],
            glyphs=glyphs,
        )
