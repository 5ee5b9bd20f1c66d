"""Chooses what leaves the window when a conversation has grown too long for it, and what stays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from local_agent.domain.entries import Entry, Kind
from local_agent.domain.marks import Mark, mark_of
from local_agent.domain.sections import TurnWeight
from local_agent.domain.summaries import within
from local_agent.domain.tree import forgets_pictures, model_facing

KEPT = 0.25
"""Of the window, what the newest turns may take that stay."""
LAST_KEPT = 0.5
"""Of the window, what the last one may take by itself."""
WELL_UNDER = 0.65
"""Of the window, what a request may take afterwards while anything is left that can leave."""
WORTH_IT = 16
"""At least this part of the window has to be gained, or it would be done again with every question."""
MOST_SUMMARY = 1024
"""Tokens of a summary in any window."""
SUMMARY_SHARE = 8
"""A summary takes this part of the window at most."""
_LEAST_SUMMARY = 48
_LEAST_ASKED_FOR = 64
"""Tokens that the person's own wish has to gain."""

_TYPED = (Kind.QUESTION, Kind.COMMAND)
_COUNTED = (*_TYPED, Kind.ASSISTANT)


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a conversation is cut."""

    kept_from: int | None
    """The first entry that stays as it is; None where none does."""
    stay: tuple[tuple[int, int], ...]
    """First and last entries of what stays although it is older."""
    left: tuple[Entry, ...]
    """What is sent no more: questions, commands and replies, oldest first."""
    room: int
    """Tokens that the summary should take at most."""
    gain: int
    """Tokens that a request weighs less afterwards, with a summary that takes all of its room."""

    @property
    def turns(self) -> frozenset[int]:
        """The questions and commands whose turns leave."""
        return frozenset(entry.id for entry in self.left if entry.kind in _TYPED)


def choose(
    path: Sequence[Entry],
    turns: Sequence[TurnWeight],
    window: int,
    beside: int,
    *,
    summary: int = 0,
    asked_for: bool = False,
    needed: bool = False,
) -> Cut | None:
    """Where to cut a path; None where nothing would be gained. All sizes are tokens as the server counts.

    ``turns`` are those of the path that the model sees, ``summary`` is what an earlier summary takes, and
    ``beside`` all that goes along in any case: instructions, tools, the new question. ``asked_for``: by the
    person, who gains something in a short conversation, too. ``needed``: a request does not fit without.
    """
    if not turns:
        return None
    facing = model_facing(path)
    old = _kept_before(facing)
    recent = [turn for turn in turns if turn.entry.id >= old]
    older = [turn for turn in turns if turn.entry.id < old]
    room = most_summary(window)
    count = _newest_that_fit(recent, window)
    while count and beside + room + _staying(older, recent, count) > window * WELL_UNDER:
        count -= 1
    least = 1 if needed else _LEAST_ASKED_FOR if asked_for else window // WORTH_IT
    for kept in dict.fromkeys((count, min(count, 1), 0)) if asked_for else (count,):
        cut = _cut(facing, older, recent, kept, room, summary)
        if cut is not None and cut.gain >= least:
            return cut
    return None


def most_summary(window: int) -> int:
    """Tokens that a summary may have in a window, or it is cut off."""
    return max(1, min(MOST_SUMMARY, window // SUMMARY_SHARE))


def _kept_before(facing: Sequence[Entry]) -> int:
    """The first entry that was kept until now: what is older stays because it was pinned."""
    first = facing[0]
    if first.kind is not Kind.SUMMARY:
        return 0
    return first.id if first.kept_from is None else first.kept_from


def _newest_that_fit(turns: Sequence[TurnWeight], window: int) -> int:
    taken = 0
    for count, turn in enumerate(reversed(turns)):
        if taken + turn.tokens > window * (KEPT if taken else LAST_KEPT):
            return count
        taken += turn.tokens
    return len(turns)


def _staying(older: Sequence[TurnWeight], recent: Sequence[TurnWeight], count: int) -> int:
    """What the turns take that stay when the newest ``count`` do."""
    split = len(recent) - count
    pinned = (turn.tokens for turn in (*older, *recent[:split]) if turn.mark is Mark.PIN)
    return sum(pinned) + sum(turn.tokens for turn in recent[split:])


def _cut(
    facing: Sequence[Entry],
    older: Sequence[TurnWeight],
    recent: Sequence[TurnWeight],
    count: int,
    most: int,
    summary: int,
) -> Cut | None:
    split = len(recent) - count
    leaving = {turn.entry.id: turn for turn in (*older, *recent[:split])}
    summarised = {key for key, turn in leaving.items() if turn.mark is None}
    weight = sum(leaving[key].tokens for key in summarised)
    if not weight:
        return None
    room = min(most, max(_LEAST_SUMMARY, (weight + summary) // 2))
    left: list[Entry] = []
    pinned: list[tuple[int, int]] = []
    for nodes in _turns(facing):
        key = nodes[0].id
        if key in summarised:
            left += (node for node in nodes if node.kind in _COUNTED)
        elif key in leaving and leaving[key].mark is Mark.PIN:
            pinned.append((key, nodes[-1].id))
    stay = sorted((*pinned, *((marker, marker) for marker in _markers(facing, pinned))))
    return Cut(
        kept_from=recent[split].entry.id if count else None,
        stay=tuple(stay),
        left=tuple(left),
        room=room,
        gain=weight + summary - room,
    )


def _turns(facing: Sequence[Entry]) -> Iterator[list[Entry]]:
    """The nodes of each turn; markers belong to none."""
    nodes: list[Entry] = []
    for entry in facing:
        if entry.kind in _TYPED and nodes:
            yield nodes
            nodes = []
        if entry.kind in _TYPED or (nodes and entry.kind is Kind.ASSISTANT):
            nodes.append(entry)
    if nodes:
        yield nodes


def _markers(facing: Sequence[Entry], pinned: Sequence[tuple[int, int]]) -> frozenset[int]:
    """The markers that say something of pinned turns, the last of each kind."""
    found: dict[int, int] = {}
    for entry in facing:
        said = mark_of(entry)
        if said is not None and within(said[1], pinned):
            found[said[1]] = entry.id
        elif pinned and forgets_pictures(entry):
            found[0] = entry.id
    return frozenset(found.values())
