"""A session's tree as a person sees it: a node for each turn, summary and marker."""

from __future__ import annotations

from dataclasses import dataclass

from local_agent.domain.entries import Kind, TurnStatus


@dataclass(frozen=True, slots=True)
class TreeNode:
    """One turn, by its question or command, or one summary or marker."""

    entry_id: int
    """The entry that it begins with."""
    parent: int | None
    """The ``entry_id`` of the node that it follows; None at the top."""
    last: int
    """The last entry of the turn: where the head goes that is switched to it."""
    kind: Kind
    text: str
    """The beginning of what was asked, or of the summary."""
    created_at: str
    status: TurnStatus | None = None
    inherited: bool = False
    """Written by the session that this one is a fork of."""
