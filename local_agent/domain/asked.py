"""What a person asked before, as a search through it shows it."""

from __future__ import annotations

from typing import NamedTuple


class AskedQuestion(NamedTuple):
    """One stored question."""

    entry_id: int
    text: str
    """Its beginning, a few thousand characters; all of it where ``whole``."""
    whole: bool
    session: str
    """The handle of the session in which it was asked."""
    title: str
    folder: str
    asked_at: str


class AskedPage(NamedTuple):
    """Some of them, newest first."""

    questions: tuple[AskedQuestion, ...]
    rest: int | None
    """Before which entry the next page begins; None when there is none."""
