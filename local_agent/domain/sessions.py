"""Values that name and describe sessions, workspaces, leases and drafts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Workspace:
    """A canonical folder. ``root`` is resolved; ``git_root_commit`` finds it again after a move."""

    id: int
    root: str
    git_root_commit: str | None = None


class RecordedFolder(NamedTuple):
    """A folder that sessions were held in."""

    root: str
    sessions: int
    """How many that are not in the trash."""
    last_activity: str
    """UTC, ISO 8601."""


@dataclass(frozen=True, slots=True)
class Holder:
    """The process that holds a session's lease, as it described itself."""

    pid: int
    host: str
    terminal: str
    since: str
    """UTC, ISO 8601."""
    generation: int


class ListPlace(NamedTuple):
    """Where a session stands in the list: a fork begins on an entry that another session may stand on."""

    last_entry: int
    session_id: int


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """One row of the session list. Times are UTC, ISO 8601."""

    id: int
    handle: str
    title: str
    title_source: str
    """``task``, ``person`` or ``model``: a title that a person set is never replaced."""
    workspace_id: int
    workspace_root: str
    head: int | None
    mode: str
    backend: str
    """``ollama`` or ``embedded``."""
    host: str
    """Server address, or the path of the GGUF file."""
    model: str
    model_pinned: bool
    headless: bool
    """Made by ``-p``: not counted by ``--resume latest``."""
    trashed: bool
    parent_session: int | None
    fork_entry: int | None
    created_at: str
    last_activity: str
    last_entry: int
    """Highest entry id of the session, or of all when it was forked: the order of the list, never a clock."""
    turn_count: int
    error_count: int
    uncertain_count: int = 0
    """Calls that it wrote and of which nobody knows what they did."""
    holder: Holder | None = None
    forked_from: str = ""
    """The handle of the session that this one is a fork of."""
    branches: int = 1
    """Ends of its tree that a person left behind, the present one included."""
    pinned: bool = False
    """Stands above the others in lists."""

    @property
    def place(self) -> ListPlace:
        """What the next page of the list begins after."""
        return ListPlace(self.last_entry, self.id)


@dataclass(frozen=True, slots=True)
class NewSession:
    """What a session row needs at its birth, before the first request goes out."""

    workspace_root: str
    title: str
    backend: str
    host: str
    model: str
    model_pinned: bool = False
    mode: str = "NORMAL"
    headless: bool = False
    git_root_commit: str | None = None
