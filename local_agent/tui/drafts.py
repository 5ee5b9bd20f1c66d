"""Keeps unsent work in the store within a second of its typing."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from textual.screen import Screen
from textual.timer import Timer

from local_agent.domain.errors import LeaseLost, StoreError
from local_agent.domain.sessions import Draft
from local_agent.tui.turns import TurnRunner

if TYPE_CHECKING:
    from local_agent.runtime.conversation import Conversation
    from local_agent.runtime.runtime import Runtime

SAVE_SECONDS = 0.4

_log = logging.getLogger(__name__)
_EMPTY = Draft("")


class DraftKeeper:
    """Saves the newest draft it was told, for the conversation it was told it with."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.runtime: Runtime | None = None
        self._screen = screen
        self._timer: Timer | None = None
        self._wanted: tuple[Conversation | None, Draft] = (None, _EMPTY)
        self._saved: tuple[int | None, Draft] = (None, _EMPTY)

    def note(self, conversation: Conversation | None, draft: Draft) -> None:
        """This is unsent now."""
        self._wanted = (conversation, draft)
        if self._timer is None and self.runtime is not None:
            self._timer = self._screen.set_timer(SAVE_SECONDS, self.save)

    async def save(self) -> None:
        """Save now what was noted last, if it is not saved yet."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        conversation, draft = self._wanted
        info = conversation.info if conversation is not None else None
        place = info.id if info is not None else None
        if self.runtime is None or (conversation is not None and conversation.read_only):
            return
        before_place, before = self._saved
        if (place, draft) == self._saved or (draft.empty and before.empty):
            return
        self._saved = (place, draft)
        try:
            if place is not None and before_place is None and not before.empty:
                # The conversation got its session: what was kept without one is its own now.
                await self.runtime.save_draft(None, _EMPTY)
            await self.runtime.save_draft(conversation, draft)
        except LeaseLost:
            self._screen.post_message(TurnRunner.SessionLost())
        except StoreError as error:
            _log.warning("the draft is not saved: %s", error)

    async def take(self, conversation: Conversation | None) -> Draft:
        """What was left unsent here, and is this process's from now on."""
        if self.runtime is None:
            return _EMPTY
        try:
            draft = await self.runtime.take_draft(conversation)
        except StoreError as error:
            _log.warning("the draft can't be read: %s", error)
            return _EMPTY
        if draft is None:
            return _EMPTY
        info = conversation.info if conversation is not None else None
        self._saved = (info.id if info is not None else None, draft)
        self._wanted = (conversation, draft)
        return draft
