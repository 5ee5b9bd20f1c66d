"""The models as the picker has them: what each is to this machine, in which order, and what typing finds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import NamedTuple

from local_agent.domain.models import Fit, Location, ModelInfo, ServerState, Speed


class Standing(IntEnum):
    """What a model is to this machine, the most useful first."""

    LOADED = 0
    FITS = 1
    NOT_KNOWN = 2
    TIGHT = 3
    ELSEWHERE = 4
    TOO_BIG = 5
    NO_CHAT = 6


class Listed(NamedTuple):
    """A model with what this machine makes of it."""

    info: ModelInfo
    fit: Fit = Fit.UNKNOWN
    speed: Speed | None = None
    """Measured in turns of one's own; None before the first."""

    @property
    def name(self) -> str:
        """As the server calls it."""
        return self.info.name

    @property
    def standing(self) -> Standing:
        """What decides its place."""
        info = self.info
        if not info.can_chat:
            return Standing.NO_CHAT
        if info.loaded:
            return Standing.LOADED
        if info.location is not Location.LOCAL:
            return Standing.ELSEWHERE
        return _BY_FIT[self.fit]


class Inventory(NamedTuple):
    """One look at a server, with what this machine makes of its models."""

    state: ServerState
    models: tuple[Listed, ...] = ()


_BY_FIT = {
    Fit.FITS: Standing.FITS,
    Fit.TIGHT: Standing.TIGHT,
    Fit.TOO_BIG: Standing.TOO_BIG,
    Fit.UNKNOWN: Standing.NOT_KNOWN,
}


def arranged(models: Iterable[Listed]) -> list[Listed]:
    """The useful ones first: loaded, then what fits; among equals what is used most, then by name."""
    return sorted(models, key=lambda m: (m.standing, -m.speed.turns if m.speed else 0, m.name.lower()))


def found(models: Sequence[Listed], typed: str) -> list[Listed]:
    """Those that every word of what is typed is found in, the closest first."""
    words = typed.lower().split()
    ranks = ((rank_of(model, words), number) for number, model in enumerate(models))
    return [models[number] for rank, number in sorted(ranks) if rank < _NOWHERE]


def rank_of(model: Listed, words: Sequence[str]) -> int:
    """How far a model is from the words, the worst one counting; ``_NOWHERE`` for no match."""
    return max((_rank(model, word) for word in words), default=0)


_NOWHERE = 9


def _rank(model: Listed, word: str) -> int:
    """0: the name begins so; 1: it holds the word; 2: something else of it does; 3: the letters in order."""
    name = model.name.lower()
    if name.startswith(word):
        return 0
    if word in name:
        return 1
    info = model.info
    about = (info.family, info.parameters, info.quantization, *(info.capabilities or ()), *_said(model))
    if any(word in part.lower() for part in about):
        return 2
    letters = iter(name)
    return 3 if all(letter in letters for letter in word) else _NOWHERE


def _said(model: Listed) -> tuple[str, ...]:
    """Words of the list itself that may be typed."""
    location = () if model.info.location is Location.LOCAL else (str(model.info.location),)
    return ("loaded" if model.info.loaded else "", *location)
