"""How much the model may do by itself; the host holds it to that, whatever the prompt says."""

from __future__ import annotations

from enum import StrEnum


class Mode(StrEnum):
    """A mode is a column of the session, and on screen."""

    NORMAL = "NORMAL"
    """Reads run; every effect is asked about."""
    PLAN = "PLAN"
    """Reads run; nothing with an effect does."""
    AUTO = "AUTO"
    """Edits in the workspace run, and project code where it can be confined."""

    @property
    def next(self) -> Mode:
        """The mode that one key further stands."""
        modes = list(Mode)
        return modes[(modes.index(self) + 1) % len(modes)]
