"""Keeps unsent work in the store within a second of its typing."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.timer import Timer

from local_agent.domain.drafts import Draft, as_one
from local_agent.domain.errors import LeaseLost, StoreError
from local_agent.domain.text import one_line
from local_agent.tui.conversation.turns import TurnRunner

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime

SAVE_SECONDS = 0.4

_log = logging.getLogger(__name__)
_EMPTY = Draft("")


class DraftKeeper:
    """Saves what ``unsent`` says whenever it is told that it changed, for the conversation on screen then."""

    def __init__(self, screen: Screen[Any], unsent: Callable[[], Draft]) -> None:
        self.runtime: Runtime | None = None
        self._screen = screen
        self._unsent = unsent
        self._timer: Timer | None = None
        self._wanted: tuple[Conversation | None, Draft] = (None, _EMPTY)
        self._saved: tuple[Conversation | None, Draft] = (None, _EMPTY)
        self._told = False

    @property
    def unsaved(self) -> str:
        """What was noted last and could not be kept."""
        draft = self._wanted[1]
        return "" if not self._told or draft == self._saved[1] else as_one(draft).text

    def note(self, conversation: Conversation | None) -> None:
        """Something else is unsent now."""
        self._wanted = (conversation, self._unsent())
        if self._timer is None and self.runtime is not None:
            self._timer = self._screen.set_timer(SAVE_SECONDS, self.save)

    def give(self, conversation: Conversation) -> Draft | None:
        """What is unsent now, for a turn that stores it with its question; None when it is another's."""
        if conversation is not self._wanted[0]:
            return None
        draft = self._unsent()
        self._wanted = self._saved = (conversation, draft)
        return draft

    async def save(self) -> None:
        """Save now what was noted last, if it is not saved yet."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        wanted, saved = self._wanted, self._saved
        if self.runtime is None or wanted == saved:
            return
        self._saved = wanted
        if wanted[1].empty and saved[1].empty:
            return
        try:
            await self.runtime.save_draft(*wanted, moved_from=saved[0])
            self._told = False
        except LeaseLost:
            self._screen.post_message(TurnRunner.SessionLost())
        except StoreError as error:
            self._saved = saved
            self._tell(wanted[0], error)

    def _tell(self, conversation: Conversation | None, error: StoreError) -> None:
        """Say once an outage that what is typed is not kept, unless nothing is."""
        _log.warning("the draft is not saved: %s", error)
        if not self._told and (conversation is None or not conversation.unsaved):
            line = f"What you type is not kept: {one_line(str(error))}"
            self._screen.notify(line, severity="warning", markup=False)
        self._told = True

    async def take(self, conversation: Conversation | None) -> Draft:
        """What was left unsent here."""
        if self.runtime is None:
            return _EMPTY
        try:
            draft = await self.runtime.take_draft(conversation) or _EMPTY
        except StoreError as error:
            _log.warning("the draft can't be read: %s", error)
            return _EMPTY
        if conversation is self._saved[0]:
            self._saved = (conversation, draft)
        return draft
