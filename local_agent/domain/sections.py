"""What a request is made of, part by part and turn by turn, in tokens by our own estimate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from local_agent.domain.budget import PICTURE_TOKENS, estimate_tokens
from local_agent.domain.entries import Entry, Kind
from local_agent.domain.marks import Mark, marks_of
from local_agent.domain.requests import DROPPED, Message, build_messages
from local_agent.domain.tree import model_facing, results_by_call, without_forgotten_pictures


class Section(StrEnum):
    """A part of a request, in the order in which they are shown."""

    SYSTEM = "system"
    INSTRUCTIONS = "instructions"
    TOOLS = "tools"
    SUMMARY = "summary"
    PINNED = "pinned"
    HISTORY = "history"
    RESULTS = "results"
    PICTURES = "pictures"


@dataclass(frozen=True, slots=True)
class TurnWeight:
    """A question or command with all that came of it."""

    entry: Entry
    tokens: int
    """0 where nothing of it is sent, as of a question that nothing answered."""
    sections: Mapping[Section, int]
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Weights:
    """Of the conversation in a request."""

    turns: tuple[TurnWeight, ...]
    """Oldest first; those that are left out weigh nothing."""
    rest: Mapping[Section, int]
    """What belongs to no turn: the summary, and what stands before the first question."""


def weigh_path(path: Sequence[Entry], trimmed: Mapping[int, str] | None = None) -> Weights:
    """Weigh what the model sees of a path; ``trimmed`` as in ``build_messages``."""
    marks = marks_of(path)
    dropped = (key for key, mark in marks.items() if mark is Mark.DROP)
    texts = {**(trimmed or {}), **dict.fromkeys(dropped, DROPPED)}
    turns: list[TurnWeight] = []
    rest: Counter[Section] = Counter()
    for entries in _pieces(path):
        first = entries[0]
        weights = _weights(build_messages("", entries, asking=False, trimmed=texts))
        if first.kind in _BEGINNINGS:
            turns.append(_turn(first, weights, marks.get(first.id)))
            continue
        if first.kind is Kind.SUMMARY and weights:
            summary = min(weights[Section.HISTORY], estimate_tokens((Message("user", first.text),)))
            weights.update({Section.SUMMARY: summary, Section.HISTORY: -summary})
        rest.update(weights)
    return Weights(tuple(turns), rest)


_BEGINNINGS = (Kind.QUESTION, Kind.COMMAND)


def _pieces(path: Sequence[Entry]) -> Iterator[list[Entry]]:
    """What the model sees, cut before every question and command; each piece with its results."""
    results = results_by_call(path)
    nodes = [entry for entry in path if entry.kind is not Kind.RESULT]
    piece: list[Entry] = []
    for entry in model_facing(without_forgotten_pictures(nodes)):
        if entry.kind is Kind.MARKER:
            continue
        if entry.kind in _BEGINNINGS and piece:
            yield piece
            piece = []
        piece += [entry, *results.get(entry.id, {}).values()]
    if piece:
        yield piece


def _turn(first: Entry, weights: Counter[Section], mark: Mark | None) -> TurnWeight:
    tokens = sum(weights.values())
    match mark:
        case Mark.DROP:
            return TurnWeight(first, 0, {}, mark)
        case Mark.PIN:
            return TurnWeight(first, tokens, {Section.PINNED: tokens}, mark)
        case _:
            return TurnWeight(first, tokens, weights)


def _weights(messages: Sequence[Message]) -> Counter[Section]:
    weights: Counter[Section] = Counter()
    for message in messages:
        pictures = PICTURE_TOKENS * len(message.pictures)
        section = Section.RESULTS if message.role == "tool" else Section.HISTORY
        weights[section] += estimate_tokens((message,)) - pictures
        weights[Section.PICTURES] += pictures
    return weights
