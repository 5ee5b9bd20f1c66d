"""Asked before a conversation goes to a model that does not run on this machine."""

from __future__ import annotations

from enum import StrEnum

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class CloudAnswer(StrEnum):
    """Whether this conversation may leave the machine."""

    NO = "no"
    YES = "yes"


class CloudConsentDialog(Dialog[CloudAnswer]):
    """No by default; a yes is for one conversation and is never kept.

    ``asked`` is how many questions there were so far, ``via`` the address of the server that passes them on.
    """

    def __init__(
        self, model: str, where: str, asked: int, *, via: str = "", glyphs: Glyphs = UNICODE
    ) -> None:
        passes = f"{via} passes on" if via else "it is sent"
        so_far = "what was said here so far, and " if asked else ""
        super().__init__(
            f"{model} runs {where}.",
            [
                f"With each prompt {passes} {so_far}all that you ask from now on, with the files "
                "and pictures that you attach.",
                "A yes is for this conversation. It is not remembered.",
            ],
            [
                Choice(CloudAnswer.NO, "no, send nothing there"),
                Choice(CloudAnswer.YES, "yes, for this conversation", "y"),
            ],
            glyphs=glyphs,
        )
