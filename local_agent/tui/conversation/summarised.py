"""Draws a summary in the transcript, live and stored alike."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import Protocol

from local_agent.domain.entries import Entry, Kind, Slice
from local_agent.domain.errors import LocalAgentError
from local_agent.domain.summaries import read_note, within
from local_agent.tui.look.glyphs import Glyphs
from local_agent.tui.widgets.summary import LISTED, Summary

_LEAVING = (Kind.QUESTION, Kind.COMMAND, Kind.ASSISTANT)
_READ = 2 * LISTED
"""Entries before a summary among which those that left are looked for: others stand between that stay."""


class PathReader(Protocol):
    """Where the path before an entry can be read."""

    def before(self, entry_id: int, count: int) -> Awaitable[Slice]:
        """The ``count`` entries that lead to ``entry_id``."""


def live_summary(entry: Entry, left: Sequence[Entry], glyphs: Glyphs) -> Summary:
    """Of a compaction that has just been made; ``left`` is what left the window."""

    async def known() -> Sequence[Entry]:
        return left[-LISTED:]

    return Summary(entry, glyphs, known)


def stored_summary(entry: Entry, path: PathReader | None, glyphs: Glyphs) -> Summary:
    """Of one that was made earlier; what left is read from ``path`` when somebody looks."""

    async def read() -> Sequence[Entry]:
        if path is None:
            return ()
        try:
            return left_by(entry, (await path.before(entry.id, _READ)).entries)
        except LocalAgentError:
            return ()

    return Summary(entry, glyphs, read)


def left_by(summary: Entry, before: Sequence[Entry]) -> Sequence[Entry]:
    """What left the window with a summary, as far as it is among the entries before it; the newest."""
    note = read_note(summary.context)
    floor = next((each.kept_from or each.id for each in reversed(before) if each.kind is Kind.SUMMARY), 0)
    end = summary.kept_from if summary.kept_from is not None else summary.id
    left = [
        entry
        for entry in before
        if entry.kind in _LEAVING and floor <= entry.id < end and not within(entry.id, note.stay)
    ]
    return left[-min(note.left, LISTED) :] if note.left else ()
