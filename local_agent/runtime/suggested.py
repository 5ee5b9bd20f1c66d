"""Which model to fetch first, by the memory of the machine."""

from __future__ import annotations

from typing import NamedTuple

GIB = 1024**3


class Suggestion(NamedTuple):
    """A model of the public library, and what it takes on the way, in bytes."""

    name: str
    size: int


_FROM_MEMORY = (
    (0, Suggestion("qwen3:0.6b", 523_000_000)),
    (4 * GIB, Suggestion("qwen3:1.7b", 1_360_000_000)),
    (7 * GIB, Suggestion("qwen3:4b", 2_500_000_000)),
    (22 * GIB, Suggestion("qwen3:8b", 5_230_000_000)),
)
"""From how many bytes on. One step below what would fit: a first answer should come soon, also without a
graphics card."""
USUAL = _FROM_MEMORY[2][1]


def suggested_model(memory: int | None) -> Suggestion:
    """For a machine with so many bytes of memory; None where that is not known."""
    if memory is None:
        return USUAL
    return [suggestion for least, suggestion in _FROM_MEMORY if memory >= least][-1]
