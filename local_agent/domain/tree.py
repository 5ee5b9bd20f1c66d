"""Walks over the tree of entries: pure functions over what the store has read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from local_agent.domain.entries import PICTURES_FORGOTTEN, Entry, Kind
from local_agent.domain.summaries import read_note, within


def results_by_call(entries: Iterable[Entry]) -> dict[int, dict[int, Entry]]:
    """Results by the assistant entry and call number they answer; the first written wins."""
    results: dict[int, dict[int, Entry]] = {}
    for entry in entries:
        if entry.kind is Kind.RESULT and entry.parent is not None and entry.call_number is not None:
            answers = results.setdefault(entry.parent, {})
            earlier = answers.get(entry.call_number)
            if earlier is None or entry.id < earlier.id:
                answers[entry.call_number] = entry
    return results


def forgets_pictures(entry: Entry) -> bool:
    """True for the marker that ``/image forget-history`` leaves."""
    return entry.kind is Kind.MARKER and entry.text == PICTURES_FORGOTTEN


def without_forgotten_pictures(path: Sequence[Entry], behind: int = 0) -> list[Entry]:
    """A part of a path, oldest first, without the pictures that a marker in it or behind it forgets.

    ``behind`` is the id of the newest such marker that follows the part, 0 when none does.
    """
    newest = max((entry.id for entry in path if forgets_pictures(entry)), default=behind)
    return [replace(entry, pictures=()) if entry.pictures and entry.id < newest else entry for entry in path]


def words_of(entry: Entry) -> str:
    """An entry's text as a person reads it, also where forgetting pictures left none."""
    if forgets_pictures(entry):
        return "Earlier pictures are left out from here on."
    bare = entry.kind is Kind.QUESTION and entry.readable and not (entry.text.strip() or entry.pictures)
    return "(only pictures, forgotten since)" if bare else entry.text


def model_facing(path: Sequence[Entry]) -> list[Entry]:
    """What of a path the model sees: the newest summary, what stays beside it, and what follows it.

    What stays are the turns that were pinned, then the newest ones before the summary. A summary that says
    nothing (empty, unreadable) replaces nothing.
    """
    newest = next((i for i in range(len(path) - 1, -1, -1) if _summarises(path[i])), None)
    if newest is None:
        return list(path)
    summary = path[newest]
    pinned = read_note(summary.context).stay
    kept = [entry for entry in path[:newest] if _is_kept(entry, summary, pinned)]
    return [summary, *kept, *path[newest + 1 :]]


def _summarises(entry: Entry) -> bool:
    return entry.kind is Kind.SUMMARY and entry.readable and bool(entry.text.strip())


def _is_kept(entry: Entry, summary: Entry, pinned: Sequence[tuple[int, int]]) -> bool:
    if entry.kind is Kind.SUMMARY:
        return False
    recent = summary.kept_from is not None and entry.id >= summary.kept_from
    return recent or within(entry.id, pinned)
