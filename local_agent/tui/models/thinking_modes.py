"""Whether and how much a model thinks before it answers: the words for it, and what comes next on a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from local_agent.domain.errors import UsageError
from local_agent.domain.text import one_line
from local_agent.domain.thinking import Thinking

if TYPE_CHECKING:
    from local_agent.domain.models import ModelInfo

_BY_WORD: Mapping[str, Thinking | None] = {
    "on": True,
    "off": False,
    "low": "low",
    "medium": "medium",
    "high": "high",
    "auto": None,
}
_LEVELS: Sequence[Thinking] = ("low", "medium", "high")
WORDS = tuple(_BY_WORD)


def thinking_of(word: str, model: ModelInfo | None) -> Thinking | None:
    """What a typed word means. Raises ``UsageError`` for what the model does not have."""
    word = word.lower()
    if word not in _BY_WORD:
        raise UsageError(f"/think knows no {one_line(word, 40)!r}.", f"Usage: /think {'|'.join(WORDS)}")
    value = _BY_WORD[word]
    if value is None or model is None:
        return value
    if model.can_think is False:
        raise UsageError(f"{model.name} does not think aloud.", "/model chooses another one.")
    if isinstance(value, str) and not model.thinks_in_levels:
        raise UsageError(f"{model.name} thinks or does not, without levels.", "Use /think on or /think off.")
    if value is False and model.thinks_in_levels:
        raise UsageError(f"{model.name} always thinks.", "/think low keeps it short.")
    return value


def next_thinking(value: Thinking | None, model: ModelInfo | None) -> Thinking | None:
    """What follows on a key: through the levels where the model has them, else on and off.

    Raises ``UsageError`` for a model that does not think.
    """
    if model is not None and model.can_think is False:
        raise UsageError(f"{model.name} does not think aloud.", "/model chooses another one.")
    choices: Sequence[Thinking] = (True, False)
    if model is not None and model.thinks_in_levels:
        choices = _LEVELS
    if value not in choices:
        # Left to itself a model thinks, at a medium level; the first press changes something.
        return "high" if choices is _LEVELS else False
    return choices[(choices.index(value) + 1) % len(choices)]


def thinking_words(value: Thinking | None) -> str:
    """For the header: empty while the model is left to itself."""
    match value:
        case None:
            return ""
        case True:
            return "thinks"
        case False:
            return "no thinking"
        case level:
            return f"thinks {level}"
