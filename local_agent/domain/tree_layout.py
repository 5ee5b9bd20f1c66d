"""Lays out a session's tree in rows: the way to the head straight down, other branches beside it.

A branch goes on in the column of what it follows; only what branches off is indented, and stands before what
goes straight on. So a run of turns stays one column, however long it is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from local_agent.domain.branches import TreeNode
from local_agent.domain.checkpoints import Checkpoint
from local_agent.domain.entries import Kind
from local_agent.domain.marks import Mark, last_said, mark_said
from local_agent.domain.text import one_line


@dataclass(frozen=True, slots=True)
class TreeRow:
    """One node and its place."""

    node: TreeNode
    depth: int
    """How many branches it is away from the column that goes straight down."""
    opens: bool
    """Whether a branch begins with it."""
    on_path: bool
    """Whether the head stands on it or behind it."""
    at_head: bool
    ends: bool
    """Whether nothing follows it."""


def layout(nodes: Sequence[TreeNode], head: int | None) -> tuple[TreeRow, ...]:
    """A row for each node; ``nodes`` are oldest first, ``head`` is the last entry of the path.

    What follows a node that is not among those before it stands at the top, as nothing else is known of it.
    """
    at_head = place_of(nodes, head)
    place_of_entry: dict[int, int] = {}
    parents: list[int] = []
    for place, node in enumerate(nodes):
        above = -1 if node.parent is None else place_of_entry.get(node.parent, -1)
        parents.append(above)
        place_of_entry[node.entry_id] = place
    path = _way_up(parents, at_head)
    straight = _straight_on(parents, path)
    following: dict[int, list[int]] = {}
    for place, above in enumerate(parents):
        following.setdefault(above, []).append(place)

    rows: list[TreeRow] = []
    waiting = _followers(following.get(-1, []), straight.get(-1), 0)
    while waiting:
        place, depth, opens = waiting.pop()
        below = following.get(place, [])
        rows.append(TreeRow(nodes[place], depth, opens, place in path, place == at_head, ends=not below))
        waiting += _followers(below, straight.get(place), depth)
    return tuple(rows)


def place_of(nodes: Sequence[TreeNode], entry_id: int | None) -> int | None:
    """Where among ``nodes``, oldest first, the one is that an entry belongs to; None for none of them."""
    if entry_id is None:
        return None
    place = bisect_right(nodes, entry_id, key=lambda node: node.entry_id) - 1
    return place if place >= 0 and entry_id <= nodes[place].last else None


def branch_count(rows: Sequence[TreeRow]) -> int:
    """How many ends the tree has."""
    return sum(row.ends for row in rows)


def marks_on_path(rows: Sequence[TreeRow]) -> dict[int, Mark]:
    """By question, what the way to the head says of it last."""
    markers = (row.node for row in rows if row.on_path and row.node.kind is Kind.MARKER)
    return last_said(said for node in markers if (said := mark_said(node.text)) is not None)


def labels_by_node(nodes: Sequence[TreeNode], checkpoints: Sequence[Checkpoint]) -> dict[int, list[str]]:
    """By node, what the checkpoints at it are called, the oldest first: by its number where that is all."""
    found: dict[int, list[str]] = {}
    for checkpoint in sorted(checkpoints, key=lambda each: each.id):
        place = place_of(nodes, checkpoint.entry_id)
        if place is not None:
            label = one_line(checkpoint.label)
            found.setdefault(nodes[place].entry_id, []).append(f"{checkpoint.id} {label}".rstrip())
    return found


def _way_up(parents: Sequence[int], place: int | None) -> frozenset[int]:
    found = set()
    while place is not None and place >= 0:
        found.add(place)
        place = parents[place]
    return frozenset(found)


def _straight_on(parents: Sequence[int], path: frozenset[int]) -> dict[int, int]:
    """Which of its followers each node's column goes on with: the one on the way to the head, else the one
    that something was written behind last.
    """
    newest = list(range(len(parents)))
    chosen: dict[int, int] = {}
    for place in range(len(parents) - 1, -1, -1):
        above = parents[place]
        rival = chosen.get(above)
        if rival is None or place in path or (rival not in path and newest[place] > newest[rival]):
            chosen[above] = place
        if above >= 0:
            newest[above] = max(newest[above], newest[place])
    return chosen


def _followers(places: Sequence[int], straight: int | None, depth: int) -> list[tuple[int, int, bool]]:
    """What follows a node, the last first: each with its depth, and whether a branch begins with it."""
    aside = [(place, depth + 1, True) for place in places if place != straight]
    return [(straight, depth, False), *reversed(aside)] if straight is not None else []
