"""What one sees of a session that another process writes."""

from __future__ import annotations

from dataclasses import dataclass

from local_agent.domain.entries import Slice
from local_agent.domain.ports import Reply
from local_agent.domain.sessions import Holder


@dataclass(frozen=True, slots=True)
class Mirrored:
    """The session at one moment, read in one transaction."""

    tail: Slice
    reply: Reply
    """What is being written behind the tail; empty between the turns."""
    holder: Holder | None
    """Who writes; None once that process let the session go or died."""
