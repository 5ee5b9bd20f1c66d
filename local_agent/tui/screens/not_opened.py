"""Asked when the database can't be opened."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum

from local_agent.domain.errors import StoreError
from local_agent.tui.look.glyphs import UNICODE, Glyphs
from local_agent.tui.screens.dialog import Choice, Dialog


class NotOpenedAnswer(StrEnum):
    """How to go on."""

    RETRY = "retry"
    READ = "read what is there"
    SET_ASIDE = "set aside"
    GO_ON = "go on unsaved"
    LEAVE = "leave"


class NotOpenedDialog(Dialog[NotOpenedAnswer]):
    """Retry by default. ``readable``: a copy can be read; ``damaged``: the file is proven to be."""

    def __init__(
        self, error: StoreError, *, readable: bool, damaged: bool = False, glyphs: Glyphs = UNICODE
    ) -> None:
        super().__init__(
            error.line,
            list(_explanation(error, readable, damaged)),
            list(_choices(readable, damaged)),
            glyphs=glyphs,
        )


def _explanation(error: StoreError, readable: bool, damaged: bool) -> Iterator[str]:
    if error.hint:
        yield error.hint
    if readable:
        yield "Read: stored conversations are shown from a copy, and nothing can be asked."
    if damaged:
        yield "Set aside: the file gets another name, and a new database is begun. Nothing is deleted."
    yield "Unsaved: a conversation lasts until you leave, and stored ones can't be read."


def _choices(readable: bool, damaged: bool) -> Iterator[Choice[NotOpenedAnswer]]:
    yield Choice(NotOpenedAnswer.RETRY, "try again")
    if readable:
        yield Choice(NotOpenedAnswer.READ, "read what is there", "r")
    if damaged:
        yield Choice(NotOpenedAnswer.SET_ASIDE, "set the damaged file aside")
    yield Choice(NotOpenedAnswer.GO_ON, "go on unsaved", "u")
    yield Choice(NotOpenedAnswer.LEAVE, "leave", "l")
