"""Asked before anything is sent to a host that is not this machine."""

from __future__ import annotations

from enum import StrEnum

from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class ConsentAnswer(StrEnum):
    """Whether the conversation may leave this machine."""

    NO = "no"
    NOW = "now"
    ALWAYS = "always"


class HostConsentDialog(Dialog[ConsentAnswer]):
    """No by default: nothing is sent."""

    def __init__(self, host: str, address: str, *, glyphs: Glyphs = UNICODE) -> None:
        how = "" if address.startswith("https:") else ", over plain http that others on the way can read"
        super().__init__(
            f"{host} is not this machine.",
            [f"Your conversation will leave this machine for {address}{how}."],
            [
                Choice(ConsentAnswer.NO, "no, send nothing"),
                Choice(ConsentAnswer.NOW, "yes, until I quit", "y"),
                Choice(ConsentAnswer.ALWAYS, "yes, and remember", "a"),
            ],
            glyphs=glyphs,
        )
