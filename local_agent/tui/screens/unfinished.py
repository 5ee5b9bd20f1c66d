"""Asked when a restore of files was cut off: how far it came, and whether it goes on or is taken back."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from local_agent.domain.text import one_line
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.look.quantities import counted
from local_agent.tui.screens.dialog import Choice, Dialog

NAMED = 6
"""So many paths are named; of more it is said how many."""


class UnfinishedAnswer(StrEnum):
    """What becomes of it."""

    LATER = "later"
    COMPLETE = "complete"
    TAKE_BACK = "take back"


class UnfinishedDialog(Dialog[UnfinishedAnswer]):
    """Later by default; ``/restore`` asks again. The sequences hold paths."""

    def __init__(
        self,
        what: str,
        done: Sequence[str],
        left: Sequence[str],
        conflicts: Sequence[str],
        *,
        glyphs: Glyphs = UNICODE,
    ) -> None:
        lines = [f"Done: {named(done)}.", f"Not done: {named(left)}."]
        if conflicts:
            lines.append(f"Changed by somebody else since, and kept either way: {named(conflicts)}.")
        lines.append("Every file is whole. Until you decide, no turn runs that could change files.")
        super().__init__(
            f"Putting files back was cut off: {what}.",
            lines,
            [
                Choice(UnfinishedAnswer.LATER, "later, with /restore"),
                Choice(UnfinishedAnswer.COMPLETE, "complete it", "c"),
                Choice(UnfinishedAnswer.TAKE_BACK, "take it back", "t"),
            ],
            glyphs=glyphs,
        )


def named(paths: Sequence[str]) -> str:
    """``3 files (a.py, b.py, c.py)``"""
    if not paths:
        return "nothing"
    shown = ", ".join(one_line(path) for path in paths[:NAMED])
    more = f" and {len(paths) - NAMED:,} more" if len(paths) > NAMED else ""
    return f"{counted(len(paths), 'file')} ({shown}{more})"
