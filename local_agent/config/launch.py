"""What the command line asked for, as the front ends and the runtime receive it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from local_agent.domain.modes import Mode


@dataclass(frozen=True, slots=True)
class LaunchOptions:
    """One start of the program. ``workspace`` is resolved."""

    workspace: Path
    resume: str | None = None
    """A canonical handle, already looked up."""
    model: str | None = None
    allow_cloud: bool = False
    """This one conversation may go where its model runs, if that is elsewhere."""
    gguf: Path | None = None
    demo: bool = False
    save: bool = True
    headless: bool = False
    """Made by ``-p``: the session is marked so."""
    mode: Mode | None = None
    """Of new conversations; None: as it is set. A resumed one goes on in its own."""
    tools: frozenset[str] | None = None
    """The only tools that may be used; None for all."""
    skip_approvals: bool = False
    """What would be asked is allowed; what is refused stays refused."""
