"""An earlier question that is being edited, to be asked again as a branch of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from local_agent.domain.drafts import Prompt

if TYPE_CHECKING:
    from local_agent.domain.entries import Entry

EDITING = "Editing an earlier question"
SENDS = "enter asks it as a new branch"
LETS_BE = "esc lets it be"


@dataclass(slots=True)
class Editing:
    """While there is one, the composer holds what becomes of it."""

    question: Entry
    parked: Prompt
    """What was typed before; it comes back afterwards."""
    asked: bool = False
    """Its turn has begun."""
    refused: Prompt | None = None
    """What was sent in vain: it goes back into the composer."""

    @property
    def unsent(self) -> tuple[Prompt, ...]:
        """What would be lost with this process, beside what is in the composer."""
        kept = (self.parked, self.refused or Prompt(""))
        return tuple(prompt for prompt in kept if not prompt.empty)
