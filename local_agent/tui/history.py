"""Fills the transcript from the store: the end first, older and newer parts as the person scrolls."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING

from local_agent.domain.errors import LocalAgentError
from local_agent.tui.glyphs import Glyphs
from local_agent.tui.widgets.transcript import Transcript
from local_agent.tui.widgets.window import Cut

if TYPE_CHECKING:
    from local_agent.domain.entries import Slice
    from local_agent.runtime.conversation import Conversation
    from local_agent.tui.widgets.window import Item

TAIL_ENTRIES = 40
INDENT = 3
"""Cells at both sides of a reply."""
FALLBACK_WIDTH = 76

_log = logging.getLogger(__name__)


class History:
    """The stored part of what the transcript shows."""

    def __init__(self, transcript: Transcript, glyphs: Glyphs) -> None:
        self.conversation: Conversation | None = None
        self.transcript = transcript
        self.glyphs = glyphs

    @property
    def mounted(self) -> list[int]:
        """The ids of the entries on screen, oldest first."""
        return [item.entry_id for item in self.transcript.window.items]

    async def show(self, conversation: Conversation, tail: Slice) -> None:
        """Show the end of a conversation, whose tail is ``tail``."""
        self.conversation = conversation
        await self.transcript.show(await self._items(tail), more_above=tail.more)

    async def older(self, before: int) -> bool:
        """Put the entries before one above it; False when that was no longer wanted, or failed."""
        conversation = self.conversation
        part = await self._read(before, TAIL_ENTRIES)
        if part is None:
            return False
        items = await self._items(part)
        if conversation is not self.conversation:
            return False
        return await self.transcript.prepend(items, before=before, more_above=part.more)

    async def newer(self, cut: Cut) -> bool:
        """Put back what was dropped below; False when that was no longer wanted, or failed."""
        conversation = self.conversation
        part = await self._read(cut.before, cut.count)
        if part is None:
            return False
        items = await self._items(part)
        return conversation is self.conversation and await self.transcript.extend(items, cut=cut)

    async def to_end(self) -> None:
        """Go to the end, reading it again when it was dropped."""
        conversation = self.conversation
        if conversation is not None and not self.transcript.end_mounted:
            tail = await self._read(0, TAIL_ENTRIES)
            if tail is not None and conversation is self.conversation:
                await self.show(conversation, tail)
        self.transcript.follow()

    def last_answer(self) -> str | None:
        """The newest answer that is mounted, as Markdown."""
        from local_agent.tui.widgets.reply import Reply  # Markdown and Pygments: after the first paint

        for item in reversed(self.transcript.window.items):
            for widget in reversed(item.widgets):
                if isinstance(widget, Reply) and widget.source.strip():
                    return widget.source
        return None

    async def draw_end(self, tail: Slice, place: int) -> None:
        """Put the entries of a new tail from ``place`` on where now something else stands, or nothing."""
        if self.conversation is None:
            return
        if place == 0:
            await self.show(self.conversation, tail)
            return
        await self.transcript.drop_from(tail.entries[place - 1].id + 1)
        await self.transcript.append(await self._items(replace(tail, entries=tail.entries[place:])))

    async def _read(self, before: int, count: int) -> Slice | None:
        conversation = self.conversation
        if conversation is None:
            return None
        try:
            return await (conversation.before(before, count) if before else conversation.tail(count))
        except LocalAgentError as error:
            _log.warning("a part of the conversation can't be read: %s", error)
            return None

    async def _items(self, part: Slice) -> list[Item]:
        from local_agent.tui.turn_view import stored_items  # Markdown and Pygments: after the first paint

        width = self.transcript.content_width or FALLBACK_WIDTH
        written = self.conversation is not None and self.conversation.writer is not None
        return await stored_items(part, width - INDENT, self.glyphs, written=written)
