"""Moves of a session's head: where it stood, where it went, and what takes it back.

Undo and redo are moves, too. Nothing of the tree goes away by any of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.entries import Entry


class Cause(StrEnum):
    """Why a head moved."""

    TURN = "turn"
    MARKER = "marker"
    RESTORE = "restore"
    COMPACTION = "compaction"
    SWITCH = "switch"
    UNDO = "undo"
    REDO = "redo"


class Scope(StrEnum):
    """What of a session goes back, or forth again."""

    CONVERSATION = "conversation"
    FILES = "files"
    BOTH = "both"

    @property
    def moves_head(self) -> bool:
        """Whether the conversation goes there."""
        return self is not Scope.FILES

    @property
    def moves_files(self) -> bool:
        """Whether the files go there."""
        return self is not Scope.CONVERSATION


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a move would lead. Looking it up has changed nothing."""

    cause: Cause
    """``RESTORE``, ``SWITCH``, ``UNDO`` or ``REDO``."""
    entry_id: int | None
    """The last entry of the path afterwards; None: before the first question."""
    ledger_number: int | None
    """Files go to what they held when the ledger had come this far; None where that was not noted yet."""
    newest_move: int
    """The number of the session's newest move (0: none) when this was looked up; it is void after another."""
    what: str
    """What is taken back, done again or gone to, one line, such as ``the turn "fix the test"``."""
    question: Entry | None = None
    """Of a turn that is undone: what was asked, for the composer."""
    redoable: bool = False
    """Whether the move empties a redo list: what could be done again is then reached in the tree alone."""
    undone: int = 0
    """Of an undo: the first move that it takes back. Of a redo: the undo that it takes back."""


@dataclass(frozen=True, slots=True)
class Travelled:
    """A move as it was recorded."""

    number: int
    """Of the move, in its session."""
    head: int | None
    checkpoint_id: int | None = None
    """Of the checkpoint that was made first."""
    execution_id: str = ""
    """Of the restore of files that has begun with it."""
