"""What deleting a session for good takes away, and what stays."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Footprint:
    """What there is of one session. ``shared`` of its ``entries`` stay: forks stand on them."""

    entries: int
    shared: int
    executions: int
    pictures: int
    drafts: int
    checkpoints: int


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge has taken away in its transaction; ``orphans`` are objects that nothing names any more."""

    handle: str
    gone: Footprint
    orphans: frozenset[str]


@dataclass(frozen=True, slots=True)
class Swept:
    """What was wiped off the disk afterwards.

    ``wiped`` False: another process keeps old pages of the database alive. ``copies`` still hold the session;
    ``left`` are files of a deleted session that were not removed.
    """

    wiped: bool
    objects: int
    copies: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
